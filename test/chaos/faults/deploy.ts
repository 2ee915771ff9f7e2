import type { ChaosNode } from '../world.js';
import { revive, type ChaosFault } from './chaos-fault.js';
import { withEveryWorker } from './every-worker.js';

/** The name that a build lacks which is older, or newer, than the others. */
const LEFT_OUT = 'chaos.rare';

export const deploy: ChaosFault = {
  kind: 'deploy',
  title: `all workers are restarted by SIGTERM, one by one; one of them does without ${LEFT_OUT} for a while`,
  run: (world, random) =>
    withEveryWorker(world, random, async (workers) => {
      const odd = random.integer(1, workers.count);
      let lacking: ChaosNode | undefined;
      let current: ChaosNode | undefined;
      try {
        for (let turn = 1; turn <= workers.count; turn++) {
          current = await workers.next();
          await current.stop();
          if (turn === odd) {
            lacking = current;
            world.log(`${current.slot} deployed without ${LEFT_OUT}`);
            await current.start({ without: [LEFT_OUT] });
          } else {
            await current.start();
          }
          await world.sleep(random.integer(0, 500));
        }
        await world.sleep(random.integer(500, 2_000));
      } finally {
        if (current) await revive(current);
        if (lacking) await replace(lacking);
      }
    }),
};

async function replace(node: ChaosNode): Promise<void> {
  if (node.running) await node.stop();
  await node.start();
}
