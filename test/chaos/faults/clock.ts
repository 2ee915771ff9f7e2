import { inSeconds, onNode, type ChaosFault } from './chaos-fault.js';

const HOUR_MS = 3_600_000;

export const clock: ChaosFault = {
  kind: 'clock',
  title: 'a process starts with a wall clock that is an hour off, which then jumps about',
  run: (world, random) =>
    onNode(world, random, async (node) => {
      const clockShiftMs = random.pick([-HOUR_MS, HOUR_MS]);
      world.log(`${node.slot} starts with its clock ${inSeconds(clockShiftMs)} off`);
      await node.kill();
      try {
        await node.start({ clockShiftMs });
        for (let jumps = random.integer(2, 4); jumps > 0; jumps--) {
          await world.sleep(random.integer(500, 1_500));
          node.order({ jumpMs: random.integer(-2 * HOUR_MS, 2 * HOUR_MS) });
        }
        await world.sleep(random.integer(500, 1_500));
      } finally {
        // No order makes the clock right again, another process has a right one.
        if (node.running) await node.kill();
        await node.start();
      }
    }),
};
