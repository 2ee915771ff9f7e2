import type { Random } from '../../../src/random.js';
import type { World } from '../world.js';
import { inSeconds, onNode, type ChaosFault } from './chaos-fault.js';

export const pause: ChaosFault = {
  kind: 'pause',
  title: 'a process is stopped with SIGSTOP for longer than its leases, and goes on',
  run: (world, random) =>
    stopFor(world, random, Math.round(world.leaseMs * (1.1 + 1.9 * random.next()))),
};

export const pauseShort: ChaosFault = {
  kind: 'pause-short',
  title: 'a process is stopped with SIGSTOP for less than a lease, several times',
  run: async (world, random) => {
    for (let times = random.integer(2, 5); times > 0; times--) {
      await stopFor(world, random, random.integer(20, Math.floor(world.leaseMs * 0.8)));
      await world.sleep(random.integer(0, 500));
    }
  },
};

function stopFor(world: World, random: Random, ms: number): Promise<void> {
  return onNode(world, random, async (node) => {
    world.log(`${node.slot} stopped for ${inSeconds(ms)}`);
    node.pause();
    try {
      await world.sleep(ms);
    } finally {
      node.resume();
    }
  });
}
