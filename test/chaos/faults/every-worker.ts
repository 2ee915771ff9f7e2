import type { Random } from '../../../src/random.js';
import type { ChaosNode, World } from '../world.js';

const turns = new WeakMap<World, Promise<void>>();

/** Hands out the workers one by one, until all are in the same hands. */
export interface Workers {
  readonly count: number;
  next(): Promise<ChaosNode>;
}

/**
 * For faults that want every worker. One such fault at a time: of two that each hold some of them,
 * neither would ever get the rest.
 */
export async function withEveryWorker(
  world: World,
  random: Random,
  harm: (workers: Workers) => Promise<void>,
): Promise<void> {
  const before = turns.get(world);
  const turn = harmInTurn(world, random, harm, before);
  // The next one waits for the end, however it ends.
  turns.set(
    world,
    turn.catch(() => {}),
  );
  await turn;
}

async function harmInTurn(
  world: World,
  random: Random,
  harm: (workers: Workers) => Promise<void>,
  before: Promise<void> | undefined,
): Promise<void> {
  await before;
  const releases: (() => void)[] = [];
  try {
    await harm({
      count: world.nodes.filter(({ role }) => role === 'worker').length,
      next: async () => {
        const { node, release } = await world.take(random, 'worker');
        releases.push(release);
        return node;
      },
    });
  } finally {
    for (const release of releases) release();
  }
}
