import { beforeEach, expect, it } from '@jest/globals';
import type { Delay, DelayName, ScheduleOptions } from 'nestjs-delay-queue';
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
