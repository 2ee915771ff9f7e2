import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Ground } from './ground.js';
import { playAll, programTextOf, type Played, runFrom, storyOf } from './runs.js';

/** One run to play again: `callers:3f2a-7`. */
const REPLAYED = process.env['IMPOLITE_SEED'];

/**
 * The same programs each time: a gate judges the change before it. Of the first 24 of that seed these have every
 * way to the database, every step, verb and end that the others have, and one has the quarter of a second for a
 * connection that a busy machine may take from it. `npm run impolite` looks for new ones, and plays those that wait
 * for long: what they found before has tests of its own.
 */
const RUNS = [...[1, 6, 12, 17, 18, 19].map((no) => `callers:gate-${no}`), 'turns:gate-1'];

/** A program waits more than it works. */
const LANES = 3;

/** Ten seconds when all is well; what hangs is told after 45 s, and a busy machine may take its time. */
const TEST_WITHIN_MS = 10 * 60_000;

let ground: Ground;
beforeAll(async () => {
  ground = await Ground.open();
});
afterAll(() => ground.close());

it(
  `impolite callers find every promise kept in ${REPLAYED ?? RUNS.join(', ')}`,
  async () => {
    const runs = (REPLAYED === undefined ? RUNS : [REPLAYED]).map(runFrom);
    if (REPLAYED !== undefined) process.stdout.write(`${runs.map(programTextOf).join('\n')}\n`);
    const stories: string[] = [];
    const onPlayed = (played: Played): void => {
      if (played.faults.length > 0) stories.push(storyOf(played));
    };
    await playAll(ground, () => runs.shift(), { lanes: LANES, onPlayed });
    expect(stories.join('\n\n')).toBe('');
  },
  TEST_WITHIN_MS,
);
