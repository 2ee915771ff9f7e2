import { expect, it } from '@jest/globals';
import { DelayInvalidError, type ScheduleItem } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { ITEMS } from '../hostile/corpus/items.js';
import { KEYS, NAMES } from '../hostile/corpus/names-and-keys.js';
import { OPTIONS } from '../hostile/corpus/options.js';
import { PAYLOADS } from '../hostile/corpus/payloads.js';
import { DURATIONS, TIMES } from '../hostile/corpus/times.js';
import { plainHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';

// oxlint-disable jest/expect-expect -- `refuses` expects

/** An error message is for people and logs: it must not repeat megabytes of what was refused. */
const MESSAGE_LENGTH_MAX = 20_000;

const fired: string[] = [];
const node = new OneNode({
  providers: [
    plainHandler('test.echo', () => {}),
    plainHandler('test.far', ({ id }) => void fired.push(id)),
  ],
});

const keysStored = async (): Promise<unknown[]> =>
  (await node.sql('SELECT key FROM delay_queue.delay ORDER BY id')).map(({ key }) => key);

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
async function refuses(field: string, call: Call): Promise<void> {
  const { field: named } = await refusal(call());
  // One of many items is named with its place.
  expect(named.replace('items[1].', '')).toBe(field);
  expect(await keysStored()).toEqual([]);
  await node.dataSource.transaction(async (manager) => {
    expect((await refusal(call(manager))).field).toBe(named);
    await node.delays.schedule('test.h', null, { after: '1h', key: 'afterwards', manager });
  });
  expect(await keysStored()).toEqual(['afterwards']);
  await node.sql('TRUNCATE delay_queue.delay');
}

type Call = (manager?: EntityManager) => Promise<unknown>;

/** Both ways to schedule one item, of which a part is other than good. */
const scheduling = (bad: object): Call[] => {
  const good = { name: 'test.h', payload: null, after: '1h' } as const;
  const { name, payload, ...options } = { ...good, ...bad } as typeof good;
  return [
    (manager) => node.delays.schedule(name, payload, { ...options, ...within(manager) }),
    (manager) => node.delays.scheduleMany([good, { name, payload, ...options }], within(manager)),
  ];
};

/** The calls that take a name and a key beside those. */
const keyed = (name: unknown, key: unknown): Call[] => {
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

const moving = (to: object): Call[] => [
  (manager) => node.delays.reschedule('test.h', 'k', to as { after: 1 }, within(manager)),
];

/** One of each, in and out of transactions; the corpus follows, through one call. */
it.each<[field: string, calls: () => Call[]]>([
  ['payload.n', () => scheduling({ payload: { n: NaN } })],
  ['payload', () => scheduling({ payload: undefined })],
  ['after', () => scheduling({ after: '1 fortnight' })],
  ['at', () => scheduling({ after: undefined, at: new Date(NaN) })],
  ['name', () => [...scheduling({ name: '' }), ...keyed('', 'k')]],
  ['key', () => [...scheduling({ key: 'a\0b' }), ...keyed('test.h', 'a\0b')]],
  ['onConflict', () => scheduling({ key: 'k', onConflict: 'toss' })],
  ['maxAttempts', () => scheduling({ maxAttempts: 0 })],
  ['after', () => moving({ after: -1 })],
  ['extendBy', () => moving({ extendBy: -1 })],
])('a wrong %s is refused by every call that takes one', async (field, calls) => {
  for (const call of calls()) await refuses(field, call);
});

const refusesOne = async (bad: object, field: string, why = ''): Promise<void> =>
  expect(await refusal(scheduling(bad)[0]!())).toMatchObject({
    field,
    why: expect.stringContaining(why),
  });

it.each(PAYLOADS)('a payload is refused: $what', ({ make, field, why }) =>
  refusesOne({ payload: make() }, field, why),
);

it.each(TIMES)('a time is refused: $what', ({ when, field, why }) =>
  refusesOne({ after: undefined, ...when }, field, why),
);

it.each(NAMES)('a name is refused: $what', ({ value, why }) =>
  refusesOne({ name: value }, 'name', why),
);

it.each(KEYS)('a key is refused: $what', ({ value, why }) =>
  refusesOne({ key: value }, 'key', why),
);

it.each(DURATIONS)('a time to move to is refused: $what', async ({ when }) => {
  const extendBy = (when as { after: number }).after;
  expect(await refusal(moving(when)[0]!())).toMatchObject({ field: 'after' });
  expect(await refusal(moving({ extendBy })[0]!())).toMatchObject({ field: 'extendBy' });
});

it.each(OPTIONS)('options are refused: $what', async ({ options, field, why }) => {
  const call = node.delays.schedule('test.h', null, options as { after: number });
  expect(await refusal(call)).toMatchObject({ field, why: expect.stringContaining(why) });
});

it.each(ITEMS)('items are refused, all of them: $what', async ({ make, field }) => {
  for (const manager of [undefined, node.dataSource.manager]) {
    const items = make() as ScheduleItem[];
    const error = await refusal(node.delays.scheduleMany(items, within(manager)));
    expect(error.field).toMatch(field);
  }
  expect(await keysStored()).toEqual([]);
});

const END = new Date('9999-12-31T23:59:59.999Z');

it.each([
  ['in 2^31 ms and more', { after: 2 ** 31 + 12_345 }],
  ['at the end of the year 9999', { at: END }],
] as const)('what is due %s is stored exactly and does not fire', async (_what, when) => {
  const { id, dueAt } = await node.delays.schedule('test.far', null, { ...when, key: 'far' });
  const [row] = await node.sql<{ created_ms: string }>(
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
  const waits = { state: 'scheduled', dueAt, wakeAt: dueAt };
  expect(await node.delays.find('test.far', 'far')).toMatchObject(waits);
});

it('extendBy stops at the end of times, however often: valid, and never an SQL error', async () => {
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

it('a past counts as due now, and says so truthfully', async () => {
  const completed = node.next('completed', ({ key }) => key === 'past');
  const at = new Date(0);
  const { dueAt } = await node.delays.schedule('test.echo', 1, { at, key: 'past' });
  expect(dueAt).toEqual(at);
  expect((await completed).latenessMs).toBeGreaterThan(50 * 365 * 86_400_000);
});
