import { randomOf } from '../../../src/random.js';
import type { Ground } from '../ground.js';
import { play } from '../play.js';
import { type Act, NAMES, type Program, type Step } from '../program.js';

const HORIZON_MS = 1_000;

/** A load finds what was committed so long after its wake; and then nothing but a sweep does. */
const LOOKED_BACK_MS = 5_000;

/** Who is overtaken for four seconds was not told of: a sweep finds it, six to eight seconds after the commit. */
const OVERTAKEN_MAX = 40;

/** Transactions that stay open until what they scheduled has been due for long. */
export function playLongTransactions(ground: Ground, seed: string): Promise<string[]> {
  const random = randomOf(seed);
  const sessions = Array.from({ length: random.integer(1, 3) }, (): Act[] => {
    const afterMs = HORIZON_MS + random.integer(50, 400);
    const steps: Step[] = [
      {
        is: 'call',
        call: {
          verb: 'schedule',
          wish: {
            name: random.pick(NAMES),
            afterMs,
            script: { steps: [{ is: 'write' }], fails: 0, how: 'throws' },
          },
        },
      },
      { is: 'write' },
      { is: 'waits', ms: afterMs + LOOKED_BACK_MS + random.integer(1_100, 2_500) },
    ];
    return [{ is: 'transaction', steps, ends: 'commits' }];
  });
  const program: Program = {
    seed,
    setup: {
      way: 'url',
      nodes: random.chance(0.7) ? 1 : 2,
      poolMax: 6,
      leaseMs: 3_600_000,
      horizonMs: HORIZON_MS,
      loadEveryMs: HORIZON_MS - 100,
      concurrency: 4,
    },
    before: [],
    sessions,
  };
  return play(ground, program, OVERTAKEN_MAX);
}
