import { type Random, randomOf } from '../../../src/random.js';
import type { Ground } from '../ground.js';
import { play } from '../play.js';
import { type Act, NAMES, type Program, type Setup } from '../program.js';

const HORIZON_MS = 1_000;

/** A load finds what was committed so long after its wake; and then nothing but a sweep does. */
const LOOKED_BACK_MS = 5_000;

const SETUP = {
  way: 'url',
  nodes: 1,
  poolMax: 6,
  leaseMs: 3_600_000,
  horizonMs: HORIZON_MS,
  loadEveryMs: HORIZON_MS - 100,
  concurrency: 4,
} as const satisfies Setup;

/** Transactions that stay open until what they scheduled has been due for long. */
export function playLongTransactions(ground: Ground, seed: string): Promise<string[]> {
  const random = randomOf(seed);
  const sessions = sessionsOf(random, 'commits');
  const setup: Setup = { ...SETUP, nodes: random.chance(0.7) ? 1 : 2 };
  // Who is overtaken for four seconds was not told of: a sweep finds it, six to eight seconds after the commit.
  return play(ground, { seed, setup, before: [], sessions }, 40);
}

/**
 * COMMIT is done, and its answer never comes: nobody in the process knows of a delay that has been due for
 * long by then.
 */
export function playLostAnswers(ground: Ground, seed: string): Promise<string[]> {
  const sessions = sessionsOf(randomOf(seed), 'unanswered');
  const program: Program = {
    seed,
    setup: { ...SETUP, isBehindProxy: true },
    before: [],
    sessions,
  };
  // Nobody tells of such a commit, and a sweep may take its time: more patience than elsewhere.
  return play(ground, program, 250);
}

function sessionsOf(random: Random, ends: 'commits' | 'unanswered'): Act[][] {
  return Array.from({ length: random.integer(1, 3) }, (): Act[] => {
    const afterMs = HORIZON_MS + random.integer(50, 400);
    const script = { steps: [{ is: 'write' }], fails: 0, how: 'throws' } as const;
    const wish = { name: random.pick(NAMES), afterMs, script };
    return [
      {
        is: 'transaction',
        steps: [
          { is: 'call', call: { verb: 'schedule', wish } },
          { is: 'write' },
          { is: 'waits', ms: afterMs + LOOKED_BACK_MS + random.integer(1_100, 2_500) },
        ],
        ends,
      },
    ];
  });
}
