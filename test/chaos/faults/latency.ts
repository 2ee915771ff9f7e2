import { onNode, type ChaosFault } from './chaos-fault.js';

export const latency: ChaosFault = {
  kind: 'latency',
  title: 'packets between a process and the server take up to a second, more or less by turns',
  run: (world, random) =>
    onNode(world, random, async (node) => {
      const worstMs = random.pick([20, 100, 400, 1_000]);
      world.log(`${node.slot} up to ${worstMs} ms away from the server`);
      try {
        for (let spells = random.integer(2, 6); spells > 0; spells--) {
          node.proxy.delay(random.integer(1, worstMs));
          await world.sleep(random.integer(500, 1_500));
        }
      } finally {
        node.proxy.delay(0);
      }
    }),
};
