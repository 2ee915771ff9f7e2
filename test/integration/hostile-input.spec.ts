import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayInvalidError, type ScheduleItem } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { parseDurationMs } from '../../src/delay-queue/validation/duration.js';
import { ITEMS } from '../hostile/corpus/items.js';
import { KEYS, NAMES } from '../hostile/corpus/names-and-keys.js';
import { OPTIONS } from '../hostile/corpus/options.js';
import { PAYLOADS } from '../hostile/corpus/payloads.js';
import { DURATIONS, TIMES } from '../hostile/corpus/times.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';

// oxlint-disable jest/expect-expect -- `refuses` expects

/** An error message is for people and logs: it must not repeat megabytes of what was refused. */
const MESSAGE_LENGTH_MAX = 20_000;

let database: TestDatabase;
let node: DelayNode;
const fired: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  const echo = plainHandler('test.echo', () => {});
  const far = plainHandler('test.far', ({ id }) => void fired.push(id));
  node = await startNode({ url: database.url, providers: [echo, far] });
});

afterEach(() => node.dataSource.query('TRUNCATE delay_queue.delay'));

afterAll(async () => {
  await node.stop();
  await database.drop();
});

const keysStored = async (): Promise<(string | null)[]> => {
  const rows: { key: string | null }[] = await node.dataSource.query(
    'SELECT key FROM delay_queue.delay ORDER BY id',
  );
  return rows.map(({ key }) => key);
};

/** The typed refusal of a call; any other error, or none, fails the test. */
async function refusal(call: Promise<unknown>): Promise<DelayInvalidError> {
  const error: unknown = await call.then(
    () => 'accepted',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DelayInvalidError)) throw error;
  expect(error).toMatchObject({ code: 'DELAY_INVALID', message: `${error.field}: ${error.why}` });
  expect(error.message.length).toBeLessThan(MESSAGE_LENGTH_MAX);
  return error;
}

/**
 * Every call is refused with its field named, outside of a transaction and inside one; nothing is
 * stored, and the transaction is as good as before.
 */
async function refuses(
  field: string,
  call: (manager?: EntityManager) => Promise<unknown>,
  why = '',
): Promise<void> {
  expect(await refusal(call())).toMatchObject({ field, why: expect.stringContaining(why) });
  expect(await keysStored()).toEqual([]);
  await node.dataSource.transaction(async (manager) => {
    expect((await refusal(call(manager))).field).toBe(field);
    await node.delays.schedule('test.h', null, { after: '1h', key: 'afterwards', manager });
  });
  expect(await keysStored()).toEqual(['afterwards']);
  await node.dataSource.query('TRUNCATE delay_queue.delay');
}

/** Both ways to schedule one item, of which `given` replaces a part. */
async function refusesItem(field: string, given: () => object, why: string): Promise<void> {
  const schedule = (manager?: EntityManager): Promise<unknown> => {
    const item = { name: 'test.h', payload: null, after: '1h', ...given() } as ScheduleItem;
    const { name, payload, ...options } = item;
    return node.delays.schedule(name, payload, {
      ...(options as { after: number }),
      ...(manager && { manager }),
    });
  };
  const scheduleMany = (manager?: EntityManager): Promise<unknown> => {
    const item = { name: 'test.h', payload: null, after: '1h', ...given() } as ScheduleItem;
    const items = [{ name: 'test.h' as const, payload: 1, after: '1h' as const }, item];
    return node.delays.scheduleMany(items, { ...(manager && { manager }) });
  };
  await refuses(field, schedule, why);
  await refuses(`items[1].${field}`, scheduleMany, why);
}

it.each(PAYLOADS)('a payload is refused: $what', ({ make, field, why }) =>
  refusesItem(field, () => ({ payload: make() }), why),
);

it.each(TIMES)('a time is refused: $what', ({ when, field, why }) =>
  refusesItem(field, () => ({ after: undefined, ...when }), why),
);

it.each(DURATIONS)('a time to move to is refused: $what', async ({ when }) => {
  const to = when as { after: number };
  const extendBy = { extendBy: to.after };
  await refuses('after', (manager) =>
    node.delays.reschedule('test.h', 'k', to, { ...(manager && { manager }) }),
  );
  await refuses('extendBy', (manager) =>
    node.delays.reschedule('test.h', 'k', extendBy, { ...(manager && { manager }) }),
  );
});

/** The calls that take a name and a key beside `schedule`. */
const keyed = (name: unknown, key: unknown) => {
  const [ofName, ofKey] = [name as 'test.h', key as string];
  const { delays } = node;
  return [
    (options: { manager?: EntityManager }) => delays.cancel(ofName, ofKey, options),
    (options: { manager?: EntityManager }) => delays.find(ofName, ofKey, options),
    (options: { manager?: EntityManager }) => delays.history(ofName, ofKey, options),
    (options: { manager?: EntityManager }) => delays.retryDead(ofName, ofKey, options),
    (options: { manager?: EntityManager }) =>
      delays.reschedule(ofName, ofKey, { after: 1 }, options),
  ];
};

it.each(NAMES)('a name is refused everywhere: $what', async ({ value, why }) => {
  await refusesItem('name', () => ({ name: value }), why);
  for (const call of keyed(value, 'k')) {
    await refuses('name', (manager) => call({ ...(manager && { manager }) }));
  }
});

it.each(KEYS)('a key is refused everywhere: $what', async ({ value, why }) => {
  await refusesItem('key', () => ({ key: value }), why);
  for (const call of keyed('test.h', value)) {
    await refuses('key', (manager) => call({ ...(manager && { manager }) }));
  }
});

it.each(OPTIONS)('options are refused: $what', async ({ options, field, why }) => {
  const error = await refusal(node.delays.schedule('test.h', null, options as { after: number }));
  expect(error).toMatchObject({ field, why: expect.stringContaining(why) });
  expect(await keysStored()).toEqual([]);
});

it.each(ITEMS)('items are refused, all of them: $what', async ({ make, field }) => {
  for (const manager of [undefined, node.dataSource.manager]) {
    const items = make() as ScheduleItem[];
    const error = await refusal(node.delays.scheduleMany(items, { ...(manager && { manager }) }));
    expect(error.field).toMatch(field);
  }
  expect(await keysStored()).toEqual([]);
});

describe('a far future', () => {
  const BEYOND_TIMERS_MS = 2 ** 31 + 12_345;

  it.each([
    ['in 2^31 ms and more', { after: BEYOND_TIMERS_MS }],
    ['in a hundred years', { after: '36525d' }],
    ['at the end of the year 9999', { at: new Date('9999-12-31T23:59:59.999Z') }],
  ] as const)('%s is stored exactly and does not fire', async (_what, when) => {
    const { id, dueAt } = await node.delays.schedule('test.far', null, { ...when, key: 'far' });
    const [row] = await node.dataSource.query(
      `SELECT due_at, wake_at, (extract(epoch FROM created_at) * 1000)::text AS created_ms
       FROM delay_queue.delay`,
    );
    expect(row.due_at).toEqual(dueAt);
    expect(row.wake_at).toEqual(dueAt);
    const wanted =
      'at' in when ? when.at.getTime() : Number(row.created_ms) + parseDurationMs(when.after, '');
    // `after` counts from the row's own clock reading; the due time is then rounded up.
    expect(dueAt.getTime()).toBe(Math.ceil(wanted));
    // One that is due now comes and goes while the far one stays.
    const completed = node.next('completed');
    await node.delays.schedule('test.echo', 1, { after: 0 });
    await completed;
    expect(fired).not.toContain(id);
    expect(await node.delays.find('test.far', 'far')).toMatchObject({ state: 'scheduled', dueAt });
  });

  it('is where extendBy stops, a million times over: valid to the end, and never an SQL error', async () => {
    const end = new Date('9999-12-31T23:59:59.999Z');
    const at = new Date('9000-01-01T00:00:00.000Z');
    await node.delays.schedule('test.far', null, { at, key: 'far' });
    let expected = at;
    for (let times = 0; times < 15; times += 1) {
      const extendBy = '36525d';
      const moved = await node.delays.reschedule('test.far', 'far', { extendBy });
      expected = new Date(Math.min(expected.getTime() + 36_525 * 86_400_000, end.getTime()));
      expect(moved).toMatchObject({ verdict: 'rescheduled', dueAt: expected });
      expect(await node.delays.find('test.far', 'far')).toMatchObject({
        state: 'scheduled',
        dueAt: expected,
        wakeAt: expected,
      });
    }
    expect(expected).toEqual(end);
  });

  it('a past one counts as due now, and says so truthfully', async () => {
    const completed = node.next('completed', ({ key }) => key === 'past');
    const at = new Date('1970-01-01T00:00:00.001Z');
    const { dueAt } = await node.delays.schedule('test.echo', 1, { at, key: 'past' });
    expect(dueAt).toEqual(at);
    expect((await completed).latenessMs).toBeGreaterThan(50 * 365 * 86_400_000);
  });
});
