import { inSeconds, onNode, type ChaosFault } from './chaos-fault.js';

export const block: ChaosFault = {
  kind: 'block',
  title: 'the event loop of a process is blocked for longer than its leases',
  run: (world, random) =>
    onNode(world, random, async (node) => {
      const blockMs = Math.round(world.leaseMs * (1.1 + 1.4 * random.next()));
      world.log(`${node.slot} blocked for ${inSeconds(blockMs)}`);
      // It ends by itself, also when nobody waits for it any more.
      node.order({ blockMs });
      await world.sleep(blockMs);
    }),
};

export const pool: ChaosFault = {
  kind: 'pool',
  title: "the application takes all connections of a process's pool and keeps them",
  run: (world, random) =>
    onNode(world, random, async (node) => {
      const holdPoolMs = random.integer(world.leaseMs, 3 * world.leaseMs);
      world.log(`${node.slot} without a free connection for ${inSeconds(holdPoolMs)}`);
      node.order({ holdPoolMs });
      await world.sleep(holdPoolMs);
    }),
};
