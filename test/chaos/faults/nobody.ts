import type { ChaosNode } from '../world.js';
import { inSeconds, type ChaosFault } from './chaos-fault.js';
import { withEveryWorker } from './every-worker.js';

export const nobody: ChaosFault = {
  kind: 'nobody',
  title: 'no worker runs for longer than a lease, then all start at once',
  run: (world, random) =>
    withEveryWorker(world, random, async (workers) => {
      const gone: ChaosNode[] = [];
      try {
        for (let left = workers.count; left > 0; left--) {
          const node = await workers.next();
          gone.push(node);
          await (random.chance(0.5) ? node.kill() : node.stop());
        }
        const nobodyMs = random.integer(world.leaseMs, 2 * world.leaseMs + 2_000);
        world.log(`no worker for ${inSeconds(nobodyMs)}`);
        await world.sleep(nobodyMs);
      } finally {
        await Promise.all(gone.filter(({ running }) => !running).map((node) => node.start()));
      }
    }),
};
