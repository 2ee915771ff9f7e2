import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ground } from './ground.js';
import { QUICK, SLOW } from './kinds/index.js';
import {
  playAll,
  playRun,
  programTextOf,
  type Played,
  type Run,
  runFrom,
  storyOf,
} from './runs.js';

/** One run to play again: `callers:3f2a-7`. */
const REPLAYED = process.env['IMPOLITE_SEED'];

/** The same programs each time: a gate judges the change before it. `npm run impolite` looks for new ones. */
const SEED = 'gate';

/** How many runs of each of the quick kinds; the slow ones, which mostly wait, have one each beside them. */
const RUNS = { callers: 24, turns: 4 } satisfies Record<keyof typeof QUICK, number>;

/** A program waits more than it works. */
const LANES = 3;

/** Half a minute when all is well; what hangs is told after 45 s, and a busy machine may take its time. */
const TEST_WITHIN_MS = 10 * 60_000;

let ground: Ground;
beforeAll(async () => {
  ground = await Ground.open();
}, 60_000);
afterAll(() => ground.close());

function runsOf(seed: string): { quick: Run[]; slow: Run[] } {
  const several = ([kind, count]: [string, number]): Run[] =>
    Array.from({ length: count }, (_, index) => ({ kind, seed: `${seed}-${index + 1}` }));
  return {
    quick: Object.entries(RUNS).flatMap(several),
    slow: Object.keys(SLOW).flatMap((kind) => several([kind, 1])),
  };
}

async function broken(seed: string): Promise<string[]> {
  const stories: string[] = [];
  const onPlayed = (played: Played): void => {
    if (played.faults.length > 0) stories.push(storyOf(played));
  };
  const { quick, slow } = runsOf(seed);
  await Promise.all([
    playAll(ground, () => quick.shift(), { lanes: LANES, onPlayed }),
    playAll(ground, () => slow.shift(), { lanes: slow.length, onPlayed }),
  ]);
  return stories;
}

describe('impolite callers', () => {
  if (REPLAYED === undefined) {
    it(
      `find every promise kept (seed ${SEED})`,
      async () => {
        expect((await broken(SEED)).join('\n\n')).toBe('');
      },
      TEST_WITHIN_MS,
    );
  } else {
    it(
      `find every promise kept in ${REPLAYED}`,
      async () => {
        const run = runFrom(REPLAYED);
        process.stdout.write(`${programTextOf(run)}\n`);
        const { faults } = await playRun(ground, run);
        expect(faults).toEqual([]);
      },
      TEST_WITHIN_MS,
    );
  }
});
