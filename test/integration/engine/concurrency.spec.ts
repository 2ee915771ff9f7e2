import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { plainHandler, signal } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';
import { until } from '../../support/until.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

/** A handler that holds until `open`, and counts how many do at a time. */
function gate(name: `test.${string}`, concurrency: number) {
  const opened = signal();
  const seen = { now: 0, most: 0, runs: 0 };
  const provider = plainHandler(
    name,
    async () => {
      seen.runs += 1;
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await opened.promise;
      await new Promise(setImmediate);
      seen.now -= 1;
    },
    { concurrency, timeout: '60s' },
  );
  return { provider, seen, open: opened.resolve };
}

const overdue = (name: string, count: number, secondsAgo: number) =>
  stage.sql(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT $1, 'null', at, at, at
     FROM generate_series(1, $2::int),
          LATERAL (SELECT date_trunc('seconds', clock_timestamp())
                          - $3::int * interval '1 second' AS at) AS due`,
    [name, count, secondsAgo],
  );

describe('a handler with a concurrency', () => {
  it('runs as many at a time, and only those are claimed', async () => {
    const held = gate('test.gate', 3);
    const node = await stage.start({
      providers: [held.provider, plainHandler('test.mark', () => {})],
    });
    await node.delays.scheduleMany(
      Array.from({ length: 10 }, (_, n) => ({ name: 'test.gate', payload: n, after: 0 })),
    );
    await until(
      () => held.seen.runs,
      (runs) => runs === 3,
    );
    // Whatever else would have been claimed by now is: claims go on.
    for (let n = 0; n < 3; n += 1) {
      const completed = node.next('completed');
      await node.delays.schedule('test.mark', null, { after: 10 });
      await completed;
    }
    const rows = await stage.sql(
      `SELECT attempts, epoch::int, leased_by IS NOT NULL AS leased, count(*)::int AS count
       FROM delay_queue.delay GROUP BY 1, 2, 3 ORDER BY 1`,
    );
    expect(rows).toEqual([
      { attempts: 0, epoch: 0, leased: false, count: 7 },
      { attempts: 1, epoch: 1, leased: true, count: 3 },
    ]);
    held.open();
    await stage.until('SELECT id FROM delay_queue.delay', (left) => left.length === 0);
    expect(held.seen).toEqual({ now: 0, most: 3, runs: 10 });
  });
});

describe('one name with thousands of overdue delays', () => {
  it.each([
    ['before it', 7_200],
    ['behind it', 1_800],
  ])('does not starve another whose overdue delays lie %s', async (_, secondsAgo) => {
    await overdue('test.many', 5_000, 3_600);
    await overdue('test.rare', 3, secondsAgo);
    const many = gate('test.many', 2);
    const rare = gate('test.rare', 1);
    rare.open();
    const node = await stage.start({
      options: { lease: '2s' },
      providers: [many.provider, rare.provider],
    });
    await until(
      () => [rare.seen.runs, many.seen.runs],
      ([rareRuns, manyRuns]) => rareRuns === 3 && manyRuns === 2,
    );
    // The same for what is new.
    const completed = node.next('completed', ({ key }) => key === 'new');
    await node.delays.schedule('test.rare', null, { after: 20, key: 'new' });
    await completed;
    // Not one of the many has ended: two hold its slots, and the rest is in nobody's way.
    expect(many.seen.runs).toBe(2);
    many.open();
  });

  it('does not starve another although its line in memory is full', async () => {
    await overdue('test.many', 12_000, 1);
    const many = gate('test.many', 2);
    const node = await stage.start({
      providers: [many.provider, plainHandler('test.rare', () => {})],
    });
    // All of them are inside the loader's grace: 10,000 are kept, the others forgotten.
    await until(
      () => many.seen.runs,
      (runs) => runs === 2,
    );
    const completed = node.next('completed', ({ name }) => name === 'test.rare');
    await node.delays.schedule('test.rare', null, { after: 300 });
    await completed;
    expect(many.seen.runs).toBe(2);
    many.open();
  });
});
