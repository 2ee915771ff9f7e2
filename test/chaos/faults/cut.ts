import { onNode, type ChaosFault } from './chaos-fault.js';

export const cut: ChaosFault = {
  kind: 'cut',
  title: 'all connections of a process are reset, several times',
  run: (world, random) =>
    onNode(world, random, async (node) => {
      const times = random.integer(2, 10);
      world.log(`${node.slot} cut off ${times} times`);
      for (let left = times; left > 0; left--) {
        node.proxy.cut();
        // Short ones hit connections that are just being made.
        await world.sleep(random.chance(0.5) ? random.integer(0, 50) : random.integer(100, 1_000));
      }
    }),
};
