import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { z } from 'zod';
import { DashboardApp, type DashboardSetup } from '../../support/dashboard-app.js';
import {
  changesOf,
  insertDelays,
  operationWhen,
  ordered,
} from '../../support/dashboard-operations.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { plainHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import type {
  DeadView,
  OperationsPage,
  OperationView,
  Preview,
  Problem,
} from '../../support/dashboard-parts.js';

let database: TestDatabase;
let client: Client;
let app: DashboardApp;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
beforeEach(async () => {
  await client.query(
    `TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.operation, delay_queue.operation_change, delay_queue.pause`,
  );
  app = await start();
});
afterEach(() => app.stop());
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** A node that serves nothing, so that delays stay as they are. */
const start = (setup: Partial<DashboardSetup> = {}): Promise<DashboardApp> =>
  DashboardApp.start({ url: database.url, ...setup });

const insert = (state: 'dead' | 'scheduled', many = 1, name = 'test.a'): Promise<string[]> =>
  insertDelays(client, { name, many, dead: state === 'dead' });

const order = (body: object) => ordered(app, body);

it('retries the dead letters that match, and says what it changed', async () => {
  const ids = await insert('dead', 3);
  await insert('dead', 1, 'test.b');
  const { status, body } = await order({
    action: 'retry',
    which: { filter: { name: 'test.a' } },
    why: 'the provider is back',
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    action: 'retry',
    who: 'tester',
    why: 'the provider is back',
    order: { which: { filter: { name: 'test.a' } } },
    state: 'done',
    counts: { retried: 3 },
    expected: { count: 3, is: 'exact' },
    error: null,
    endedAt: expect.any(String),
  });
  const { body: view } = await app.get<OperationView>(`api/operations/${body.id}`);
  expect(view).toEqual({
    operation: body,
    changes: ids.map((id, index) => ({
      id,
      name: 'test.a',
      key: `test.a ${index + 1}`,
      verdict: 'retried',
    })),
    next: null,
  });
  expect(await app.admin.count({ state: 'dead' })).toBe(1);
  const [one] = await app.admin.list({ id: ids[0]! });
  expect(one?.moveLog).toMatchObject([{ call: 'retryDead', by: 'tester' }]);
});

const done = async (body: object) => (await order(body)).body.counts;
const which = (...ids: (string | undefined)[]) => ({ which: { ids } });

it('retries exactly those that failed alike', async () => {
  await insert('dead', 3);
  await client.query(`UPDATE delay_queue.delay SET last_error = CASE n WHEN 1 THEN E'Error: 100% of_it\\n  at a' WHEN 2 THEN E'Error: 100% of_it\\n  at b'
    ELSE 'Error: 100% of_it, and more' END FROM (SELECT id AS of, row_number() OVER (ORDER BY id) AS n FROM delay_queue.delay) r WHERE id = of`);
  const { groups } = (await app.get<DeadView>('api/dead')).body;
  const alike = groups.find(({ count }) => count.count === 2)!;
  expect(await done({ action: 'retry', which: { filter: alike.search } })).toEqual({ retried: 2 });
  expect(await app.admin.list({})).toMatchObject([
    { state: 'scheduled' },
    { state: 'scheduled' },
    { state: 'dead' },
  ]);
});

describe('of listed delays', () => {
  it('counts those that are not there', async () => {
    const ids = await insert('scheduled', 2);
    const { body } = await order({ action: 'cancel', which: { ids: [...ids, '999999'] } });
    expect(body).toMatchObject({ state: 'done', counts: { cancelled: 2, absent: 1 } });
    expect(await app.delays.history('test.a', 'test.a 1')).toMatchObject([
      { state: 'cancelled', by: 'tester' },
    ]);
  });

  it('moves, makes due, aborts and discards them', async () => {
    const [first, second, third] = await insert('scheduled', 3);
    const [dead] = await insert('dead', 1, 'test.b');
    const at = '2031-01-01T00:00:00.000Z';
    expect(await done({ action: 'reschedule', ...which(first), to: { at } })).toEqual({
      rescheduled: 1,
      running: 0,
      absent: 0,
    });
    expect(await done({ action: 'runNow', ...which(second, dead) })).toMatchObject({
      due: 1,
      absent: 1,
    });
    expect(await done({ action: 'abort', ...which(third) })).toMatchObject({ cancelled: 1 });
    expect(await done({ action: 'discard', ...which(dead) })).toMatchObject({ discarded: 1 });
    expect(await app.admin.list({})).toMatchObject([
      { id: first, dueAt: new Date(at) },
      { id: second },
    ]);
  });
});

it('aborts a running attempt, and lists it as aborted', async () => {
  await app.stop();
  const held = plainHandler(
    'test.held',
    (_delay, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  );
  app = await start({ providers: [held] });
  const { id } = await app.delays.schedule('test.held' as never, {} as never, { after: 0 });
  await until(
    () => app.admin.count({ state: 'running' }),
    (count) => count === 1,
  );
  const { body } = await order({ action: 'abort', which: { filter: { state: ['running'] } } });
  const line = await operationWhen(app, body.id, ({ endedAt }) => endedAt !== null);
  expect(line).toMatchObject({ state: 'done', counts: { aborted: 1 } });
  expect(await changesOf(app, body.id)).toMatchObject([
    { id, name: 'test.held', key: null, verdict: 'aborted' },
  ]);
});

describe('erases a customer', () => {
  const WHO = 'customer-7';
  const filtered = { which: { filter: { group: WHO } } };

  beforeEach(async () => {
    for (const group of [WHO, 'customer-70']) {
      const options = { after: '1h', group } as const;
      await app.delays.schedule('test.a', { n: 1 }, { ...options, key: `waits of ${group}` });
      await app.delays.schedule('test.a', { n: 1 }, { ...options, key: `ended of ${group}` });
      await app.delays.cancel('test.a', `ended of ${group}`);
    }
    await order({ action: 'pause', name: 'test.a', group: WHO });
    await order({ action: 'runNow', ...filtered, why: `${WHO} called` });
  });

  it('and keeps nothing of it, in its own line neither', async () => {
    const erase = { action: 'erase', ...filtered };
    const erases = { erased: 1, history: 1, pauses: 1, operations: 2 };
    expect((await app.post<Preview>('api/preview', erase)).body).toEqual({
      matched: { count: 5, is: 'exact' },
      changeable: { count: 5, is: 'exact' },
      blocked: [],
      sample: [],
      erases,
    });
    const { body } = await order({ ...erase, why: 'GDPR request' });
    expect(body).toMatchObject({
      state: 'done',
      order: { erased: true },
      why: 'GDPR request',
      counts: { ...erases, running: 0 },
      expected: { count: 5, is: 'exact' },
    });
    expect(await changesOf(app, body.id)).toEqual([]);
    const left = await client.query(
      `SELECT jsonb_build_array((SELECT jsonb_agg(d) FROM delay_queue.delay d), (SELECT jsonb_agg(h) FROM delay_queue.history h),
         (SELECT jsonb_agg(o) FROM delay_queue.operation o), (SELECT jsonb_agg(c) FROM delay_queue.operation_change c),
         (SELECT jsonb_agg(p) FROM delay_queue.pause p))::text AS all`,
    );
    const [{ all = '' } = {}] = left.rows as { all?: string }[];
    expect(all.match(/customer-7(?!0)/g)).toBeNull();
    expect(all.match(/(?:waits|ended) of customer-70/g)).toHaveLength(2);
  });

  it('and leaves what runs, which it says before', async () => {
    await client.query(
      `UPDATE delay_queue.delay SET leased_by = 'other', leased_until = now() + interval '1 h' WHERE group_id = $1`,
      [WHO],
    );
    const erase = { action: 'erase', ...filtered };
    expect((await app.post<Preview>('api/preview', erase)).body).toMatchObject({
      changeable: { count: 4 },
      blocked: [{ state: 'running', count: { count: 1 }, text: expect.stringMatching(/again/) }],
    });
    expect((await order(erase)).body).toMatchObject({
      state: 'done',
      counts: { erased: 0, running: 1, history: 1 },
    });
  });
});

it('pauses and resumes a name', async () => {
  const { body } = await order({ action: 'pause', name: 'test.a', for: '1h', why: 'too many' });
  expect(body).toMatchObject({ state: 'done', counts: { paused: 1 } });
  expect(await app.admin.stats()).toMatchObject({
    pauses: [{ name: 'test.a', group: null, reason: 'too many', by: 'tester' }],
  });
  expect((await order({ action: 'resume', name: 'test.a' })).body.counts).toEqual({ resumed: 1 });
  expect((await order({ action: 'resume', name: 'test.a' })).body.counts).toEqual({ absent: 1 });
});

it('creates a delay, and never writes its payload down', async () => {
  const { body } = await order({
    action: 'create',
    name: 'test.new',
    key: 'k',
    group: 'g',
    payload: '{"card": "queen of hearts"}',
    after: '1h',
  });
  expect(body).toMatchObject({ state: 'done', counts: { scheduled: 1 } });
  expect(body.order).toEqual({ name: 'test.new', key: 'k', group: 'g', after: '1h' });
  expect(await app.delays.find('test.new' as never, 'k')).toMatchObject({
    payload: { card: 'queen of hearts' },
    group: 'g',
  });
  const { rows } = await client.query('SELECT o::text AS all FROM delay_queue.operation o');
  expect(JSON.stringify(rows)).not.toContain('queen');
});

it('refuses a payload that its schema refuses, in a preview, too, and writes that down', async () => {
  await app.stop();
  const schema = z.object({ orderId: z.string() });
  app = await start({ options: { payloads: { 'test.strict': schema } } });
  const create = {
    action: 'create',
    name: 'test.strict',
    payload: '{"orderId": 4111222233334444}',
    after: '1h',
  };
  for (const path of ['api/preview', 'api/operations']) {
    const { status, body } = await app.post<Problem>(path, create);
    expect([status, body]).toMatchObject([400, { problem: 'invalid', field: 'payload.orderId' }]);
  }
  const { operations } = (await app.get<OperationsPage>('api/operations')).body;
  expect(operations).toMatchObject([
    { state: 'failed', error: expect.stringContaining('payload.orderId'), counts: {} },
  ]);
  expect(JSON.stringify(operations)).not.toContain('4111222233334444');
  const right = { ...create, payload: '{"orderId": "4111222233334444"}' };
  const { body: preview } = await app.post<Preview>('api/preview', right);
  expect(preview.changeable).toEqual({ count: 1, is: 'exact' });
  expect(await app.admin.count({})).toBe(0);
});

it('never replaces a delay that waits, and writes the refusal down', async () => {
  const create = { action: 'create', name: 'test.new', key: 'k', payload: '1', after: '1h' };
  await order(create);
  const { status, body } = await app.post<Problem>('api/operations', create);
  expect([status, body.problem]).toEqual([409, 'conflict']);
  const { operations } = (await app.get<OperationsPage>('api/operations')).body;
  expect(operations).toMatchObject([
    { state: 'failed', error: expect.stringContaining('already waiting') },
    { state: 'done' },
  ]);
});

it('previews what would change, and changes nothing', async () => {
  const ids = await insert('scheduled', 12);
  await client.query(`UPDATE delay_queue.delay SET key = 'not ' || key`);
  await insert('dead', 2);
  const { body } = await app.post<Preview>('api/preview', {
    action: 'reschedule',
    which: { filter: { name: 'test.a' } },
    to: { extendBy: '1h' },
  });
  expect(body).toMatchObject({
    matched: { count: 14, is: 'exact' },
    changeable: { count: 12, is: 'exact' },
    blocked: [{ state: 'dead', count: { count: 2, is: 'exact' }, text: expect.any(String) }],
  });
  expect(body.sample.map(({ id }) => id)).toEqual(ids.slice(0, 10));
  expect(body.sample[0]).toMatchObject({
    name: 'test.a',
    state: 'scheduled',
    waitsFor: { what: 'due' },
  });
  expect((await app.get<OperationsPage>('api/operations')).body.operations).toEqual([]);
});
