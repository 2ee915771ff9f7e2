import { describe, expect, it } from '@jest/globals';
import { PostponeDelay, type ScheduleResult } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import {
  batchHandler,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
  type Signal,
  signal,
} from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { inTime, until } from '../support/until.js';

/** What comes while its key runs is not lost: the key runs once more, after that run. */
const KEY = 'k';

type End = 'well' | 'badly' | 'later' | 'moves';

/** Of the runs of one test. */
interface Run {
  payload: unknown;
  signal: AbortSignal;
  end: Signal<End>;
}
const runs: Run[] = [];
let began = signal<Run>();
let running = 0;
let most = 0;

/** Ends when the test says so. */
async function handle(
  { payload }: { payload: unknown },
  ctx: { signal: AbortSignal },
): Promise<void> {
  const run = { payload, signal: ctx.signal, end: signal<End>() };
  runs.push(run);
  most = Math.max(most, (running += 1));
  began.resolve(run);
  const how = await run.end.promise;
  running -= 1;
  if (how === 'badly') throw new Error('on purpose');
  if (how === 'moves') await node.delays.reschedule('test.plain', KEY, { after: '1h' });
  if (how === 'later') throw new PostponeDelay('1h');
}

const handleAll = async (
  all: readonly { payload: unknown }[],
  ctx: { signal: AbortSignal },
): Promise<void> => {
  await Promise.all(all.map((delay) => handle(delay, ctx)));
};

const settings = { backoff: () => 60_000, maxAttempts: 2 } as const;
const batch = { batch: 10, ...settings } as const;

const node = new OneNode({
  // Nothing is found by a load, or by the look that comes as often.
  options: { horizon: '20m', loadEvery: '10m' },
  providers: [
    plainHandler('test.plain', handle, settings),
    fencedHandler('test.fenced', handle, settings),
    batchHandler('test.batch', handleAll, batch),
    fencedBatchHandler('test.fenced-batch', handleAll, batch),
  ],
});

type Name = 'test.plain' | 'test.fenced' | 'test.batch' | 'test.fenced-batch';
const NAMES: Name[] = ['test.plain', 'test.fenced', 'test.batch', 'test.fenced-batch'];

const again = (name: Name, payload: number, manager?: EntityManager): Promise<ScheduleResult> =>
  node.delays.schedule(name, payload, { key: KEY, after: 0, running: 'rerun', manager });

const nextRun = async (): Promise<Run> => {
  const run = await inTime(began.promise, 'the next run');
  began = signal<Run>();
  return run;
};

/** A first run of the key, which goes on. */
async function running1(name: Name, maxAttempts = 2): Promise<{ run: Run; id: string }> {
  runs.length = most = running = 0;
  began = signal<Run>();
  const { id } = await node.delays.schedule(name, 1, { key: KEY, after: 0, maxAttempts });
  return { run: await nextRun(), id };
}

const isQuiet = async (): Promise<unknown> =>
  node.until<{ left: string }>(
    `SELECT (SELECT count(*) FROM delay_queue.delay) + (SELECT count(*) FROM delay_queue.rerun) AS left`,
    ([row]) => Number(row?.left) === 0,
  );

describe.each(NAMES)('%s', (name) => {
  it('runs once more, with what the last call says, and never beside the run', async () => {
    const { run, id } = await running1(name);
    for (const payload of [2, 3]) {
      expect(await again(name, payload)).toMatchObject({ verdict: 'rerun', id });
    }
    const [last] = await node.delays.scheduleMany([
      { name, payload: 4, key: KEY, after: 0, running: 'rerun' },
    ]);
    expect(last).toMatchObject({ verdict: 'rerun', id });
    run.end.resolve('well');
    (await nextRun()).end.resolve('well');
    await isQuiet();
    expect(runs.map(({ payload }) => payload)).toEqual([1, 4]);
    expect(most).toBe(1);
  });

  it.each(['before', 'after'] as const)(
    'of a transaction that commits %s its end',
    async (when) => {
      const { run } = await running1(name);
      const open = await node.begin();
      expect(await again(name, 2, open.manager)).toMatchObject({ verdict: 'rerun' });
      if (when === 'before') await open.commit();
      run.end.resolve('well');
      if (when === 'after') {
        await node.until('SELECT FROM delay_queue.delay', ({ length }) => length === 0);
        await open.commit();
      }
      (await nextRun()).end.resolve('well');
      await isQuiet();
      expect(runs.map(({ payload }) => payload)).toEqual([1, 2]);
    },
  );

  it('of a transaction that is rolled back nothing is left', async () => {
    const { run } = await running1(name);
    const open = await node.begin();
    await again(name, 2, open.manager);
    await open.rollback();
    run.end.resolve('well');
    await isQuiet();
    expect(runs).toHaveLength(1);
  });

  it.each([
    ['in place of its retry', 2],
    ['in place of its dead letter', 1],
  ])('%s', async (_, maxAttempts) => {
    const { run } = await running1(name, maxAttempts);
    await again(name, 2);
    run.end.resolve('badly');
    const next = await nextRun();
    expect(next.payload).toBe(2);
    next.end.resolve('well');
    await isQuiet();
    const history = await node.delays.history(name, KEY);
    const states = maxAttempts === 1 ? ['completed', 'discarded'] : ['completed'];
    expect(history.map(({ state }) => state)).toEqual(states);
  });

  it('in place of what was postponed', async () => {
    const { run } = await running1(name);
    await again(name, 2);
    run.end.resolve('later');
    const next = await nextRun();
    expect(next.payload).toBe(2);
    next.end.resolve('well');
    await isQuiet();
  });

  it('is gone with the run that a cancel aborts', async () => {
    const { run, id } = await running1(name);
    await again(name, 2);
    run.signal.addEventListener('abort', () => run.end.resolve('badly'));
    const cancelled = await node.delays.cancel(name, KEY, { running: 'abort', abortWithin: '30s' });
    expect(cancelled).toMatchObject({ verdict: 'cancelled', id });
    await isQuiet();
    expect(runs).toHaveLength(1);
  });

  it('is left by a cancel that is rolled back', async () => {
    const { run } = await running1(name);
    await again(name, 2);
    const open = await node.begin();
    const cancelled = await node.delays.cancel(name, KEY, { manager: open.manager });
    expect(cancelled).toMatchObject({ verdict: 'running', rerunCancelled: true });
    await open.rollback();
    run.end.resolve('well');
    (await nextRun()).end.resolve('well');
    await isQuiet();
    expect(runs.map(({ payload }) => payload)).toEqual([1, 2]);
  });

  it('is cancelled while the first one runs', async () => {
    const { run, id } = await running1(name);
    await again(name, 2);
    const { rerunAt } = (await node.delays.find(name, KEY))!;
    expect(rerunAt).toBeInstanceOf(Date);
    expect((await node.admin.list({ name })).map((one) => one.rerunAt)).toEqual([rerunAt]);
    const cancelled = await node.delays.cancel(name, KEY);
    expect(cancelled).toMatchObject({ verdict: 'running', id, rerunCancelled: true });
    expect(await node.delays.cancel(name, KEY)).not.toHaveProperty('rerunCancelled');
    expect(await node.delays.find(name, KEY)).toMatchObject({ rerunAt: null });
    run.end.resolve('well');
    await isQuiet();
    expect(runs).toHaveLength(1);
  });
});

it('in place of what the handler itself has moved on', async () => {
  const { run } = await running1('test.plain');
  await again('test.plain', 2);
  run.end.resolve('moves');
  const next = await nextRun();
  expect(next.payload).toBe(2);
  next.end.resolve('well');
  await isQuiet();
});

it('what recurs runs once more, and then goes on', async () => {
  const name = 'test.plain';
  runs.length = 0;
  began = signal<Run>();
  await node.delays.schedule(name, 1, { key: KEY, repeat: { every: '1h' }, after: 0 });
  const run = await nextRun();
  await again(name, 2);
  run.end.resolve('well');
  const next = await nextRun();
  expect(next.payload).toBe(2);
  next.end.resolve('well');
  await node.until(
    `SELECT FROM delay_queue.history WHERE key = '${KEY}' AND state = 'completed'`,
    ({ length }) => length === 2,
  );
  const found = await node.delays.find(name, KEY);
  expect(found).toMatchObject({ state: 'scheduled', repeat: { every: 3_600_000 }, rerunAt: null });
});

describe.each(NAMES)('many writers of %s', (name) => {
  it('a run begins after the last change, whatever commits when', async () => {
    await node.sql('CREATE TABLE IF NOT EXISTS change (at bigserial)');
    await node.sql('TRUNCATE change RESTART IDENTITY');
    const changes = async (): Promise<number> =>
      Number((await node.sql<{ n: string }>('SELECT count(*) AS n FROM change'))[0]?.n);
    let seen = 0;
    runs.length = most = running = 0;
    began = signal<Run>();
    let isOver = false;
    const worker = (async () => {
      for (;;) {
        const run = await nextRun();
        if (isOver) return run.end.resolve('well');
        seen = await changes();
        run.end.resolve(Math.random() < 0.2 ? 'badly' : 'well');
      }
    })();
    const write = async (index: number): Promise<void> => {
      await node.dataSource.transaction(async (manager) => {
        await manager.query('INSERT INTO change DEFAULT VALUES');
        await again(name, index, index % 2 === 0 ? manager : undefined);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
        if (index % 2 !== 0) await again(name, index, manager);
      });
    };
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(Array.from({ length: 12 }, (_, index) => write(index)));
    }
    await until(
      async () => {
        // What failed waits for its backoff: that is another promise.
        await node.sql(
          `UPDATE delay_queue.delay SET wake_at = clock_timestamp() WHERE leased_by IS NULL AND attempts > 0`,
        );
        return seen;
      },
      (count) => count === 48,
    );
    expect(most).toBe(1);
    isOver = true;
    await node.truncate('delay', 'rerun');
    await node.delays.schedule(name, 'end', { key: 'end', after: 0 });
    await worker;
  });
});
