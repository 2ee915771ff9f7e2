import type { Random } from '../../../src/random.js';
import type { ChaosNode, Fault, Role, World } from '../world.js';

/** A kind of fault, with its harm in one line. */
export interface ChaosFault extends Fault {
  readonly title: string;
}

/** Has one node to itself while `harm` runs; no other fault touches that node meanwhile. */
export async function onNode(
  world: World,
  random: Random,
  harm: (node: ChaosNode) => Promise<void>,
  role?: Role,
): Promise<void> {
  const { node, release } = await world.take(random, role);
  try {
    await harm(node);
  } finally {
    release();
  }
}

/** Whatever became of it meanwhile, it runs. */
export async function revive(node: ChaosNode): Promise<void> {
  if (!node.running) await node.start();
}

export const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
