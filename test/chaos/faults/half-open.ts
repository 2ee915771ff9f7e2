import { inSeconds, onNode, type ChaosFault } from './chaos-fault.js';

/** The engine gives a statement 15 s before it takes the connection for dead. */
const SHORTER_MS = { min: 3_000, max: 12_000 };
const LONGER_MS = { min: 15_500, max: 19_000 };

export const halfOpen: ChaosFault = {
  kind: 'half-open',
  title:
    'connections of a process stay open while nothing passes; later all arrives late, or is lost',
  run: (world, random) =>
    onNode(world, random, async (node) => {
      const { min, max } = random.chance(0.6) ? SHORTER_MS : LONGER_MS;
      const stillMs = random.integer(min, max);
      const isLost = random.chance(0.4);
      world.log(
        `${node.slot} half-open for ${inSeconds(stillMs)}, then ${isLost ? 'reset' : 'on'}`,
      );
      node.proxy.halfOpen();
      try {
        await world.sleep(stillMs);
        if (isLost) node.proxy.cut();
      } finally {
        node.proxy.heal();
      }
    }),
};
