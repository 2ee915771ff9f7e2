import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayInvalidError, type ScheduleItem } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { ITEMS } from '../hostile/corpus/items.js';
import { KEYS, NAMES } from '../hostile/corpus/names-and-keys.js';
import { OPTIONS } from '../hostile/corpus/options.js';
import { PAYLOADS } from '../hostile/corpus/payloads.js';
import { DURATIONS, TIMES } from '../hostile/corpus/times.js';
import { type DelayNode, plainHandler } from '../support/delay-node.js';
import { Stage } from './engine/support/stage.js';

// oxlint-disable jest/expect-expect -- `refuses` expects

/** An error message is for people and logs: it must not repeat megabytes of what was refused. */
const MESSAGE_LENGTH_MAX = 20_000;

let stage: Stage;
let node: DelayNode;
const fired: string[] = [];

beforeAll(async () => {
  stage = await Stage.open();
  const echo = plainHandler('test.echo', () => {});
  const far = plainHandler('test.far', ({ id }) => void fired.push(id));
  node = await stage.start({ providers: [echo, far] });
});

afterEach(() => stage.sql('TRUNCATE delay_queue.delay'));

afterAll(() => stage.close());

const keysStored = async (): Promise<unknown[]> =>
  (await stage.sql('SELECT key FROM delay_queue.delay ORDER BY id')).map(({ key }) => key);

/** As a caller in JavaScript would: without a manager there is no such option. */
const within = (manager?: EntityManager): { manager?: EntityManager } =>
  manager ? { manager } : {};

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
  await stage.sql('TRUNCATE delay_queue.delay');
}

/** Both ways to schedule one item, of which `given` replaces a part. */
async function refusesItem(field: string, given: () => object, why: string): Promise<void> {
  const good = { name: 'test.h', payload: null, after: '1h' } as const;
  const item = (): ScheduleItem => ({ ...good, ...given() }) as ScheduleItem;
  const schedule = (manager?: EntityManager): Promise<unknown> => {
    const { name, payload, ...options } = item();
    return node.delays.schedule(name, payload, {
      ...(options as { after: number }),
      ...within(manager),
    });
  };
  await refuses(field, schedule, why);
  const many = (manager?: EntityManager) =>
    node.delays.scheduleMany([good, item()], within(manager));
  await refuses(`items[1].${field}`, many, why);
}

it.each(PAYLOADS)('a payload is refused: $what', ({ make, field, why }) =>
  refusesItem(field, () => ({ payload: make() }), why),
);

it.each(TIMES)('a time is refused: $what', ({ when, field, why }) =>
  refusesItem(field, () => ({ after: undefined, ...when }), why),
);

it.each(DURATIONS)('a time to move to is refused: $what', async ({ when }) => {
  const { after } = when as { after: number };
  for (const [field, to] of [
    ['after', { after }],
    ['extendBy', { extendBy: after }],
  ] as const) {
    await refuses(field, (manager) => node.delays.reschedule('test.h', 'k', to, within(manager)));
  }
});

/** The calls that take a name and a key beside `schedule`. */
const keyed = (name: unknown, key: unknown): ((manager?: EntityManager) => Promise<unknown>)[] => {
  const slot = [name as 'test.h', key as string] as const;
  const { delays } = node;
  return [
    (manager) => delays.cancel(...slot, within(manager)),
    (manager) => delays.find(...slot, within(manager)),
    (manager) => delays.history(...slot, within(manager)),
    (manager) => delays.retryDead(...slot, within(manager)),
    (manager) => delays.reschedule(...slot, { after: 1 }, within(manager)),
  ];
};

it.each(NAMES)('a name is refused everywhere: $what', async ({ value, why }) => {
  await refusesItem('name', () => ({ name: value }), why);
  for (const call of keyed(value, 'k')) await refuses('name', call);
});

it.each(KEYS)('a key is refused everywhere: $what', async ({ value, why }) => {
  await refusesItem('key', () => ({ key: value }), why);
  for (const call of keyed('test.h', value)) await refuses('key', call);
});

it.each(OPTIONS)('options are refused: $what', async ({ options, field, why }) => {
  const error = await refusal(node.delays.schedule('test.h', null, options as { after: number }));
  expect(error).toMatchObject({ field, why: expect.stringContaining(why) });
  expect(await keysStored()).toEqual([]);
});

it.each(ITEMS)('items are refused, all of them: $what', async ({ make, field }) => {
  for (const manager of [undefined, node.dataSource.manager]) {
    const items = make() as ScheduleItem[];
    const error = await refusal(node.delays.scheduleMany(items, within(manager)));
    expect(error.field).toMatch(field);
  }
  expect(await keysStored()).toEqual([]);
});

describe('a far future', () => {
  const END = new Date('9999-12-31T23:59:59.999Z');

  it.each([
    ['in 2^31 ms and more', { after: 2 ** 31 + 12_345 }],
    ['at the end of the year 9999', { at: END }],
  ] as const)('%s is stored exactly and does not fire', async (_what, when) => {
    const { id, dueAt } = await node.delays.schedule('test.far', null, { ...when, key: 'far' });
    const [row] = await stage.sql<{ created_ms: string }>(
      'SELECT (extract(epoch FROM created_at) * 1000)::text AS created_ms FROM delay_queue.delay',
    );
    // `after` counts from the row's own clock reading; the due time is then rounded up.
    const wanted = 'at' in when ? END.getTime() : Number(row!.created_ms) + when.after;
    expect(dueAt.getTime()).toBe(Math.ceil(wanted));
    // One that is due now comes and goes while the far one stays.
    const completed = node.next('completed');
    await node.delays.schedule('test.echo', 1, { after: 0 });
    await completed;
    expect(fired).not.toContain(id);
    expect(await node.delays.find('test.far', 'far')).toMatchObject({
      state: 'scheduled',
      dueAt,
      wakeAt: dueAt,
    });
  });

  it('is where extendBy stops, however often: valid to the end, and never an SQL error', async () => {
    let dueAt = new Date('9700-01-01T00:00:00.000Z');
    await node.delays.schedule('test.far', null, { at: dueAt, key: 'far' });
    for (let times = 0; times < 5; times += 1) {
      const moved = await node.delays.reschedule('test.far', 'far', { extendBy: '36525d' });
      dueAt = new Date(Math.min(dueAt.getTime() + 36_525 * 86_400_000, END.getTime()));
      expect(moved).toMatchObject({ verdict: 'rescheduled', dueAt });
      const found = { state: 'scheduled', dueAt, wakeAt: dueAt };
      expect(await node.delays.find('test.far', 'far')).toMatchObject(found);
    }
    expect(dueAt).toEqual(END);
  });
});

it('a past counts as due now, and says so truthfully', async () => {
  const completed = node.next('completed', ({ key }) => key === 'past');
  const at = new Date('1970-01-01T00:00:00.001Z');
  const { dueAt } = await node.delays.schedule('test.echo', 1, { at, key: 'past' });
  expect(dueAt).toEqual(at);
  expect((await completed).latenessMs).toBeGreaterThan(50 * 365 * 86_400_000);
});
