import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { INSERT_OVERDUE } from './support/overdue.js';
import { Stage } from './support/stage.js';

type Name = `test.${string}`;

/** A pool that leaves two connections to transactional handlers. */
const POOL = 3;
const EACH = 150;

/** Two claims travel at once, so that two names may begin in another order than they were taken in. */
const AHEAD_MAX = 3;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

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

describe('transactional names that share a small pool', () => {
  it.each([3, 6])('run in turn: %d of them, with a backlog each', async (count) => {
    const names = namesOf(count);
    for (const name of names) await stage.sql(INSERT_OVERDUE, [EACH, name]);
    const runs: string[] = [];
    await stage.start({
      poolMax: POOL,
      providers: names.map((name) =>
        fencedHandler(name, async () => void runs.push(name), { concurrency: 2 }),
      ),
    });
    await until(
      () => runs.length,
      (length) => length === EACH * count,
    );
    expect(mostAhead(runs, names, EACH)).toBeLessThanOrEqual(AHEAD_MAX);
  });

  it('hold up no plain name, which shares nothing with them', async () => {
    const gate = signal();
    const names = namesOf(3);
    for (const name of [...names, 'test.plain']) await stage.sql(INSERT_OVERDUE, [EACH, name]);
    let held = 0;
    let plain = 0;
    await stage.start({
      poolMax: POOL,
      providers: [
        ...names.map((name) =>
          fencedHandler(name, () => ((held += 1), gate.promise), { concurrency: 2 }),
        ),
        plainHandler('test.plain', () => void (plain += 1)),
      ],
    });
    await until(
      () => [held, plain],
      ([holding, ran]) => holding === POOL - 1 && ran === EACH,
    );
    expect(held).toBe(POOL - 1);
    gate.resolve();
  });
});

describe('stalled delays', () => {
  const SUSPECTS = 20;

  /** Attempts that ended without a word. */
  const makeSuspects = (name: string): Promise<unknown> =>
    stage.sql(
      `UPDATE delay_queue.delay SET leased_by = 'dead', leased_until = wake_at, epoch = 1, attempts = 1
       WHERE id IN (SELECT id FROM delay_queue.delay WHERE name = $1 LIMIT ${SUSPECTS})`,
      [name],
    );

  it('of several names run in turn', async () => {
    const names = namesOf(3);
    for (const name of names) {
      await stage.sql(INSERT_OVERDUE, [SUSPECTS, name]);
      await makeSuspects(name);
    }
    const runs: string[] = [];
    await stage.start({
      providers: names.map((name) => plainHandler(name, () => void runs.push(name))),
    });
    await until(
      () => runs.length,
      (length) => length === SUSPECTS * names.length,
    );
    expect(mostAhead(runs, names, SUSPECTS)).toBe(1);
  });

  it('of one name take turns with its healthy delays where both want the only slot', async () => {
    await stage.sql(INSERT_OVERDUE, [SUSPECTS * 2, 'test.one']);
    await makeSuspects('test.one');
    const runs: string[] = [];
    await stage.start({
      providers: [
        plainHandler(
          'test.one',
          ({ attempt }) => void runs.push(attempt > 1 ? 'stalled' : 'healthy'),
          { concurrency: 1 },
        ),
      ],
    });
    await until(
      () => runs.length,
      (length) => length === SUSPECTS * 2,
    );
    expect(mostAhead(runs, ['stalled', 'healthy'], SUSPECTS)).toBe(1);
  });
});
