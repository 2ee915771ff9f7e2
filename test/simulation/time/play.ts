import { replaceGlobals, whenQuiet } from './globals.js';
import { leaveProcess } from './sim-process.js';
import type { Timeline } from './timeline.js';

/**
 * Lets things happen, one after the other, each with all of its microtasks, until `isOver`.
 *
 * A whole simulation is one turn of the real event loop: nothing real happens in between, so the
 * globals may be somebody else's meanwhile, and the same seed gives the same run.
 *
 * @param random what `Math.random` answers meanwhile
 */
export function play(
  timeline: Timeline,
  random: () => number,
  isOver: () => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const restore = replaceGlobals(random);
    const step = (): void => {
      leaveProcess();
      try {
        const next = isOver() ? undefined : timeline.next();
        if (next === undefined) {
          restore();
          resolve();
          return;
        }
        next.happen();
      } catch (error) {
        leaveProcess();
        restore();
        reject(error);
        return;
      }
      whenQuiet(step);
    };
    step();
  });
}
