import { describe, expect, it } from '@jest/globals';
import { fencedHandler, plainHandler, type Signal, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';

type Name = `test.${string}`;

/** As many sessions have the transactional handlers. */
const POOL = 2;
const EACH = 60;

/**
 * Two claims travel at once, so that two names may begin in another order than they were taken in.
 * And while delays of a name are claimed, prefetched ones of others begin.
 */
const AHEAD_MAX = 8;

let gate: Signal<void> | undefined;
const stage = stageOfEach({ release: () => gate?.resolve() });

const namesOf = (count: number): Name[] =>
  Array.from({ length: count }, (_, n): Name => `test.turn-${n}`);

/** How far the names parted, at most, while none of them had run out. */
function mostAhead(runs: readonly string[], names: readonly string[], each: number): number {
  const counts = new Map(names.map((name) => [name, 0]));
  let most = 0;
  for (const name of runs) {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    if (count === each) break;
    most = Math.max(most, Math.max(...counts.values()) - Math.min(...counts.values()));
  }
  return most;
}

const allRan = (runs: readonly string[], count: number): Promise<number> =>
  until(
    () => runs.length,
    (length) => length === count,
  );

describe('transactional names that share a small pool', () => {
  it.each([3, 6])('run in turn: %d of them, with a backlog each', async (count) => {
    const names = namesOf(count);
    for (const name of names) await stage.overdue(name, EACH);
    const runs: string[] = [];
    await stage.start({
      poolMax: POOL,
      providers: names.map((name) =>
        fencedHandler(name, async () => void runs.push(name), { concurrency: 2 }),
      ),
    });
    await allRan(runs, EACH * count);
    expect(mostAhead(runs, names, EACH)).toBeLessThanOrEqual(AHEAD_MAX);
  });

  it('hold up no plain name, which shares nothing with them', async () => {
    const { promise } = (gate = signal());
    const names = namesOf(3);
    for (const name of [...names, 'test.plain']) await stage.overdue(name, EACH);
    const ran = { held: 0, plain: 0 };
    const hold = (): Promise<void> => {
      ran.held += 1;
      return promise;
    };
    await stage.start({
      poolMax: POOL,
      providers: [
        ...names.map((name) => fencedHandler(name, hold, { concurrency: 2 })),
        plainHandler('test.plain', () => void (ran.plain += 1)),
      ],
    });
    const all = { held: POOL, plain: EACH };
    const reached = until(
      () => ran,
      ({ held, plain }) => held === all.held && plain === all.plain,
    );
    await expect(reached).resolves.toEqual(all);
  });
});

it('stalled delays of a name take turns with its healthy ones where both want the only slot', async () => {
  const suspects = 20;
  await stage.overdue('test.one', suspects * 2);
  // Attempts that ended without a word.
  await stage.sql(
    `UPDATE delay_queue.delay SET leased_by = 'dead', leased_until = wake_at, epoch = 1, attempts = 1
     WHERE id <= $1`,
    [suspects],
  );
  const runs: string[] = [];
  const handler = plainHandler(
    'test.one',
    ({ attempt }) => void runs.push(attempt > 1 ? 'stalled' : 'healthy'),
    { concurrency: 1 },
  );
  await stage.start({ providers: [handler] });
  await allRan(runs, suspects * 2);
  expect(mostAhead(runs, ['stalled', 'healthy'], suspects)).toBe(1);
});
