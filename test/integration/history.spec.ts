import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type DelayHistoryOptions, type Duration } from 'nestjs-delay-queue';
import { fencedHandler, plainHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { OtherNode } from '../support/other-node.js';
import { Stage } from './engine/support/stage.js';
import { historyWalk, parseDurationMs } from '../support/engine-parts.js';
import { resolveOptions } from '../support/option-checks.js';

/** What `find` says of a delay that lives, and `history` of those that ended. */
const NAME = 'test.told';
const KEY = 'k';
const NODE_NAME = 'node-of-the-test';
const HOUR_MS = 3_600_000;

const node = new OneNode({
  options: { nodeName: NODE_NAME },
  providers: [plainHandler('test.plain', () => {}), fencedHandler('test.fenced', () => {})],
});
let other: OtherNode;

beforeAll(() => {
  other = new OtherNode(node.dataSource);
});

/** Of a name that no node has a handler for. */
const schedule = (after: number | '1h' = 0) =>
  node.delays.schedule(NAME, null, { after, key: KEY });

const history = () => node.delays.history(NAME, KEY);
const find = () => node.delays.find(NAME, KEY);

const lines = async (): Promise<number> =>
  (await node.sql('SELECT id FROM delay_queue.history')).length;

it('find tells the state that a delay is in, and retryDead wants a dead letter', async () => {
  const isFound = async (state: string, attempts: number): Promise<void> =>
    expect(await find()).toMatchObject({ state, attempts });
  expect(await find()).toBeNull();
  expect(await node.delays.retryDead(NAME, KEY)).toEqual({ verdict: 'absent' });
  const { id, dueAt } = await schedule();
  await isFound('scheduled', 0);
  expect(await node.delays.retryDead(NAME, KEY)).toEqual({ verdict: 'absent' });
  expect(await find()).toMatchObject({ dueAt });
  await other.claimAndFail(id, 0);
  await isFound('retrying', 1);
  const { epoch } = await other.claim(id);
  await isFound('running', 2);
  await other.store.retry([
    { id: Number(id), epoch, waitMs: 0, movesDue: false, refund: 1, ends: 'released', error: null },
  ]);
  await other.claimAndDie(id);
  await isFound('retrying', 2);
  await other.claimAndFail(id, null);
  await isFound('dead', 3);
});

describe('what ended is told', () => {
  it.each(['test.plain', 'test.fenced'] as const)('when %s completed it', async (name) => {
    const completed = node.next('completed');
    const { id, dueAt } = await node.delays.schedule(name, null, {
      after: 0,
      key: KEY,
      group: 'customer-7',
      headers: { trace: 'a' },
    });
    const { latenessMs } = await completed;
    const told = await node.delays.history(name, KEY);
    expect(told).toEqual([
      {
        id,
        name,
        key: KEY,
        group: 'customer-7',
        headers: { trace: 'a' },
        state: 'completed',
        dueAt,
        createdAt: expect.any(Date),
        endedAt: expect.any(Date),
        latenessMs,
        attempts: 1,
        node: NODE_NAME,
        error: null,
        by: null,
        attemptLog: [],
        moveLog: [],
      },
    ]);
    expect(Number(told[0]?.createdAt)).toBeLessThanOrEqual(Number(dueAt));
    expect(Number(told[0]?.endedAt)).toBeGreaterThanOrEqual(Number(dueAt));
    expect(latenessMs).toBeGreaterThanOrEqual(0);
  });

  it('when it was cancelled: no attempt, no node, no lateness', async () => {
    const { id, dueAt } = await schedule('1h');
    await node.delays.cancel(NAME, KEY);
    const nothing = { attempts: 0, node: null, latenessMs: null, error: null };
    expect(await history()).toMatchObject([{ id, state: 'cancelled', dueAt, ...nothing }]);
  });

  it.each([
    ['between two attempts: with the last error', HOUR_MS, 'cancelled'],
    ['as a dead letter: discarded, with the error it died of', null, 'discarded'],
  ])('when it was cancelled %s', async (_, waitMs, state) => {
    const { id } = await schedule();
    await other.claimAndFail(id, waitMs, 'Error: busy');
    expect(await history()).toEqual([]);
    expect(await node.delays.cancel(NAME, KEY)).toMatchObject({ verdict: 'cancelled' });
    expect(await history()).toMatchObject([{ state, attempts: 1, error: 'Error: busy' }]);
  });

  it('when a dead letter was revived by a schedule: the old life is discarded', async () => {
    const first = await schedule();
    await other.claimAndFail(first.id, null, 'Error: first life');
    const second = await schedule('1h');
    expect(second).toMatchObject({ verdict: 'scheduled', id: first.id });
    await node.delays.cancel(NAME, KEY);
    const [last, before] = await history();
    expect(last).toMatchObject({ state: 'cancelled', dueAt: second.dueAt, attempts: 0 });
    expect(before).toMatchObject({
      state: 'discarded',
      dueAt: first.dueAt,
      attempts: 1,
      error: 'Error: first life',
    });
    expect(Number(last?.createdAt)).toBeGreaterThanOrEqual(Number(before?.endedAt));
  });

  it('newest first, a hundred lines at most, of that name and key alone', async () => {
    await node.sql(
      `INSERT INTO delay_queue.history
         (id, ended_at, due_at, created_at, epoch, attempts, state, name, key)
       SELECT row_number() OVER (), now() - n * interval '1 s', now(), now(), 0, n, 'completed',
              name, key
       FROM generate_series(1, 150) n, (VALUES ($1::text, $2::text), ($1, 'else'), ('x', $2)) k(name, key)`,
      [NAME, KEY],
    );
    const told = await history();
    expect(told.map(({ attempts }) => attempts)).toEqual(
      Array.from({ length: 100 }, (_, n) => n + 1),
    );
  });
});

it('without history nothing is written by any end, and everything else works', async () => {
  const mute = await Stage.open();
  let rounds = 0;
  const again = plainHandler('test.again', async () => {
    rounds += 1;
    if (rounds === 1) await silent.delays.schedule('test.again', null, { after: 0, key: KEY });
  });
  const silent = await mute.start({
    providers: [again, fencedHandler('test.fenced', () => {})],
    options: { history: false },
  });
  const { delays, dataSource } = silent;
  const completed = silent.next('completed');
  await delays.schedule('test.again', null, { after: 0, key: KEY });
  await completed;
  expect(rounds).toBe(2);
  const fenced = silent.next('completed');
  await delays.schedule('test.fenced', null, { after: 0, key: KEY });
  expect(await fenced).toMatchObject({ name: 'test.fenced', attempt: 1 });
  const { id } = await delays.schedule('test.a', { n: 1 }, { after: 0, key: KEY });
  await new OtherNode(dataSource).claimAndFail(id, null);
  await delays.schedule('test.a', { n: 2 }, { after: '1h', key: KEY });
  expect(await delays.cancel('test.a', KEY)).toMatchObject({ verdict: 'cancelled' });
  expect(await mute.sql('SELECT id FROM delay_queue.history')).toEqual([]);
  expect(await delays.history('test.a', KEY)).toEqual([]);
  await mute.close();
});

const fill = (count: number, endedBefore: string) =>
  node.sql(
    `INSERT INTO delay_queue.history
       (id, ended_at, due_at, created_at, epoch, attempts, state, name)
     SELECT n, now() - $2::interval - n * interval '1 ms', now(), now(), 0, 1, 'completed', 'x'
     FROM generate_series(1, $1::int) n`,
    [count, endedBefore],
  );

const keepsOf = (given: DelayHistoryOptions) => resolveOptions({ history: given }).historyKeeps;

describe('pruning', () => {
  it('leaves of each name what is kept of it, whatever times names have', async () => {
    const names = ['a', 'b.c', 'd:e', 'zz'];
    /** In seconds: on either side of each of the times. */
    const ages = [-3_600, 1_800, 7_200, 90_000, 400 * 86_400];
    const time = fc.constantFrom<Duration>('1s', '1h', '1d', '365d');
    const check = async (keep: Duration, ofNames: Record<string, Duration>, limit: number) => {
      await node.sql(
        `INSERT INTO delay_queue.history
           (id, ended_at, due_at, created_at, epoch, attempts, state, name)
         SELECT age, now() - age * interval '1 s', now(), now(), epoch, 1, 'completed', name
         FROM unnest($1::text[]) WITH ORDINALITY AS names(name, epoch), unnest($2::int[]) age`,
        [names, ages],
      );
      for (const each of keepsOf({ keep, names: ofNames })) {
        const walk = historyWalk(other.node, each);
        while ((await walk(limit)) === limit);
      }
      const left = await node.sql('DELETE FROM delay_queue.history RETURNING name, id::int AS age');
      const isKept = (name: string, age: number): boolean =>
        age * 1_000 < parseDurationMs(ofNames[name] ?? keep, 'keep');
      const kept = names.flatMap((name) =>
        ages.filter((age) => isKept(name, age)).map((age) => ({ name, age })),
      );
      expect(new Set(left)).toEqual(new Set(kept));
    };
    const ofSome = fc.dictionary(fc.constantFrom(...names), time);
    const limits = fc.constantFrom(1, 3, 7, 100);
    await fc.assert(fc.asyncProperty(time, ofSome, limits, check), { numRuns: 25 });
  });

  it('takes what is too old, the oldest first, no more than its limit at a time', async () => {
    await fill(25, '2 h');
    await fill(5, '0 s');
    expect(await other.prune(HOUR_MS, 10)).toBe(10);
    const oldest = await node.sql('SELECT id FROM delay_queue.history ORDER BY ended_at LIMIT 1');
    expect(oldest).toEqual([{ id: '15' }]);
    expect(await other.prune(HOUR_MS, 10)).toBe(10);
    expect(await other.prune(HOUR_MS, 10)).toBe(5);
    expect(await other.prune(HOUR_MS, 10)).toBe(0);
    expect(await lines()).toBe(5);
  });

  it('on a node without history takes what is left of one, once no node writes any more', async () => {
    await fill(15, '2 h');
    await fill(1, '0 s');
    expect(await other.prune(HOUR_MS, 10, true)).toBe(0);
    await node.sql(`DELETE FROM delay_queue.history WHERE ended_at > now() - interval '1 h'`);
    expect(await other.prune(HOUR_MS, 10, true)).toBe(10);
    expect(await other.prune(HOUR_MS, 10, true)).toBe(5);
  });

  it('by several nodes at once takes every line once and waits for nobody', async () => {
    await fill(600, '2 h');
    let pruned = 0;
    const prune = async (): Promise<void> => {
      for (;;) {
        const count = await other.prune(HOUR_MS, 30);
        pruned += count;
        if (count === 0 && (await lines()) === 0) return;
      }
    };
    await Promise.all([prune(), prune(), prune()]);
    expect(pruned).toBe(600);
  });
});
