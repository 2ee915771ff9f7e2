import { LEASE_MS } from '../processes/process.protocol.js';
import { RARE } from '../load/payloads.js';
import { type Fault, inSeconds } from './fault.js';

export const ALL_WORKERS: readonly Fault[] = [
  {
    kind: 'nobody',
    title: 'no worker runs for longer than a lease, then all start at once',
    run: (world, random) =>
      world.withWorkers(random, async (nodes) => {
        for (const node of nodes) await (random.chance(0.5) ? node.kill() : node.stop());
        const nobodyMs = random.integer(LEASE_MS, 2 * LEASE_MS + 2_000);
        world.log(`no worker for ${inSeconds(nobodyMs)}`);
        await world.sleep(nobodyMs);
        await Promise.all(nodes.map((node) => node.start()));
      }),
  },
  {
    kind: 'deploy',
    title: `all workers are restarted by SIGTERM, one by one; one of them does without ${RARE} for a while`,
    run: (world, random) =>
      world.withWorkers(random, async (nodes) => {
        const older = random.pick(nodes);
        world.log(`all workers deployed, ${older.slot} without ${RARE}`);
        for (const node of nodes) {
          await node.stop();
          await node.start(node === older ? { without: [RARE] } : {});
          await world.sleep(random.integer(0, 500));
        }
        await world.sleep(random.integer(500, 2_000));
        await older.stop();
        await older.start();
      }),
  },
];
