import { beforeEach, expect, it } from '@jest/globals';
import {
  type Delay,
  type DelayEventMap,
  type DelayName,
  OnDelayEvent,
  type ScheduleOptions,
} from 'nestjs-delay-queue';
import { plainHandler, type Signal, signal } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';

/** What a delay carries beside its payload, on each way into the table and out of it. */
const CARRIED = { group: 'shop "7", \\ ünï', headers: { traceparent: '00-4b-01', note: '' } };
const NOTHING = { group: null, headers: {} };
const LATER = { after: '1h' } as const;
const NAME = 'test.later';

let ran: Signal<Delay>;
/** What the handler of `test.again` schedules its own key with. */
let next: ScheduleOptions | undefined;

const node = new OneNode({
  providers: [
    plainHandler('test.runs', (delay) => ran.resolve(delay)),
    plainHandler('test.fails', () => Promise.reject(new Error('no')), { backoff: () => 0 }),
    plainHandler('test.again', async ({ payload }) => {
      await node.delays.schedule('test.again', payload, { ...LATER, key: 'k', ...next });
    }),
  ],
});

beforeEach(() => {
  ran = signal();
});

const carriedOf = (
  delay: Partial<Pick<Delay, 'group' | 'headers'>> | null | undefined,
): object => ({
  group: delay?.group,
  headers: delay?.headers,
});

const found = async (key: string, name: DelayName = NAME): Promise<object> =>
  carriedOf(await node.delays.find(name, key));

it.each<[string, ScheduleOptions, object]>([
  ['both', CARRIED, CARRIED],
  ['a group alone', { group: 'g' }, { group: 'g', headers: {} }],
  ['headers alone', { headers: CARRIED.headers }, { ...NOTHING, headers: CARRIED.headers }],
  ['neither', {}, NOTHING],
])('group and headers reach the row and the handler: %s', async (_, given, expected) => {
  await node.delays.schedule('test.runs', {}, { after: 0, ...given });
  expect(carriedOf(await ran.promise)).toEqual(expected);
  await node.delays.schedule(NAME, {}, { ...LATER, key: 'one', ...given });
  // Without a key, with others, and in a transaction, other statements write it.
  const item = { name: NAME, payload: {}, ...LATER } as const;
  await node.delays.scheduleMany([
    { ...item, key: 'many', ...given },
    { ...item, key: 'plain' },
    { ...item, name: 'test.keyless', ...given },
  ]);
  await node.dataSource.transaction((manager) =>
    node.delays.schedule(NAME, {}, { ...LATER, key: 'own', manager, ...given }),
  );
  const [keyless] = await node.admin.list({ name: 'test.keyless' });
  expect(carriedOf(keyless)).toEqual(expected);
  for (const key of ['one', 'many', 'own']) expect(await found(key)).toEqual(expected);
  expect(await found('plain')).toEqual(NOTHING);
});

it('group and headers are replaced with the delay, and kept by a reschedule', async () => {
  const options = { ...LATER, key: 'k' };
  await node.delays.schedule(NAME, {}, { ...options, ...CARRIED });
  await node.delays.reschedule(NAME, 'k', { after: '2h' });
  expect(await found('k')).toEqual(CARRIED);
  await node.delays.schedule(NAME, {}, { ...options, group: 'another' });
  expect(await found('k')).toEqual({ group: 'another', headers: {} });
  await node.delays.schedule(NAME, {}, options);
  expect(await found('k')).toEqual(NOTHING);
});

it.each<[string, ScheduleOptions, object]>([
  ['replaced', CARRIED, CARRIED],
  ['left out', {}, NOTHING],
])('those of a handler that schedules its own key are %s', async (_, given, expected) => {
  next = given;
  const superseded = node.next('superseded');
  await node.delays.schedule('test.again', {}, { after: 0, key: 'k', group: 'first' });
  await superseded;
  expect(await found('k', 'test.again')).toEqual(expected);
});

it('events about an attempt carry them, also where no attempt is left to report', async () => {
  const events = [node.next('started'), node.next('completed')];
  await node.delays.schedule('test.runs', {}, { after: 0, ...CARRIED });
  for (const event of await Promise.all(events)) expect(carriedOf(event as Delay)).toEqual(CARRIED);

  const [failed, dead] = [node.next('retrying'), node.next('dead')];
  await node.delays.schedule('test.fails', {}, { after: 0, ...CARRIED, maxAttempts: 2 });
  expect(carriedOf(await failed)).toEqual(CARRIED);
  expect(carriedOf(await dead)).toEqual(CARRIED);

  // Their process has died. One recurs, so another statement ends it; one cannot be read.
  const name = 'test.orphaned';
  await node.delays.schedule(name, {}, { ...LATER, ...CARRIED, key: 'once' });
  await node.delays.schedule(
    name,
    {},
    { ...LATER, ...CARRIED, key: 'recurs', repeat: { every: '1h' } },
  );
  await node.delays.schedule(name, {}, { ...LATER, ...CARRIED, key: 'odd' });
  await node.sql(
    `UPDATE delay_queue.delay
     SET due_at = clock_timestamp() - interval '1 min', wake_at = clock_timestamp() - interval '1 min',
         attempts = CASE key WHEN 'odd' THEN -1 ELSE 10 END WHERE name = 'test.orphaned'`,
  );
  const told = new Map<string | null, object>();
  const all = signal();
  class Pager {
    @OnDelayEvent('dead')
    dead(event: DelayEventMap['dead'][0]): void {
      told.set(event.key, carriedOf(event));
      if (told.size === 3) all.resolve();
    }
  }
  // It finds at its start what is overdue.
  const other = await node.start({ providers: [plainHandler(name, () => {}), Pager] });
  await all.promise;
  expect(Object.fromEntries(told)).toEqual({ once: CARRIED, recurs: CARRIED, odd: CARRIED });
  await other.stop();
});

it.each<[string, unknown, string]>([
  ['group', '', 'group'],
  ['group', 7, 'group'],
  ['group', 'x'.repeat(256), 'group'],
  ['headers', 'text', 'headers'],
  ['headers', { trace: 7 }, 'headers.trace'],
  ['headers', { trace: 'a\0b' }, 'headers.trace'],
  ['headers', { '': 'empty' }, 'headers.name'],
  ['headers', Object.fromEntries(Array.from({ length: 33 }, (_, n) => [n, ''])), 'headers'],
  ['headers', { long: 'ü'.repeat(2_100) }, 'headers'],
])('%s %j is refused', async (option, value, field) => {
  const given = { ...LATER, [option]: value } as never;
  await expect(node.delays.schedule(NAME, {}, given)).rejects.toMatchObject({ field });
});
