import { expect, it } from '@jest/globals';
import { plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach();

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
  const begun = (count: number): Promise<number> =>
    until(
      () => seen.runs,
      (runs) => runs === count,
    );
  return { provider, seen, begun, open: opened.resolve };
}

it('a handler with a concurrency runs as many at a time, and only those are claimed', async () => {
  const held = gate('test.gate', 3);
  const mark = plainHandler('test.mark', () => {});
  const node = await stage.start({ providers: [held.provider, mark] });
  await node.delays.scheduleMany(
    Array.from({ length: 10 }, (_, n) => ({ name: 'test.gate', payload: n, after: 0 })),
  );
  await held.begun(3);
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
  await stage.noneLeft();
  expect(held.seen).toEqual({ now: 0, most: 3, runs: 10 });
});

it('a name with thousands of overdue delays starves no other, whether its delays lie before them, behind them, or are new', async () => {
  await stage.overdue('test.before', 3, { secondsAgo: 7_200 });
  await stage.overdue('test.many', 5_000, { secondsAgo: 3_600 });
  await stage.overdue('test.behind', 3, { secondsAgo: 1_800 });
  const many = gate('test.many', 2);
  const others = [gate('test.before', 1), gate('test.behind', 1)];
  for (const { open } of others) open();
  const node = await stage.start({
    options: { lease: '10s' },
    providers: [many, ...others].map(({ provider }) => provider),
  });
  await Promise.all([many.begun(2), ...others.map(({ begun }) => begun(3))]);
  const completed = node.next('completed', ({ key }) => key === 'new');
  await node.delays.schedule('test.behind', null, { after: 20, key: 'new' });
  await completed;
  // Not one of the many has ended: two hold its slots, and the rest is in nobody's way.
  expect(many.seen.runs).toBe(2);
  many.open();
});
