import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Delay, DelayName, ScheduleOptions } from 'nestjs-delay-queue';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  type DelayNode,
  plainHandler,
  type Signal,
  signal,
  startNode,
} from '../support/delay-node.js';

/** What a delay carries beside its payload, on each way into the table and out of it. */
const CARRIED = { group: 'shop "7", \\ ünï', headers: { traceparent: '00-4b-01', note: '' } };
const NOTHING = { group: null, headers: {} };
const LATER = { after: '1h' } as const;

let database: TestDatabase;
let node: DelayNode;
let ran: Signal<Delay>;
/** What the handler of `test.again` schedules its own key with. */
let next: ScheduleOptions | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
  node = await startNode({
    url: database.url,
    providers: [
      plainHandler('test.runs', (delay) => ran.resolve(delay)),
      plainHandler('test.again', async ({ key, payload }) => {
        await node.delays.schedule('test.again', payload, { ...LATER, key: key ?? '', ...next });
      }),
    ],
  });
});

afterAll(async () => {
  await node.stop();
  await database.drop();
});

beforeEach(() => {
  ran = signal();
});

const carriedOf = (delay: Partial<Pick<Delay, 'group' | 'headers'>> | null): object => ({
  group: delay?.group,
  headers: delay?.headers,
});

const found = async (key: string, name: DelayName = 'test.later'): Promise<object> =>
  carriedOf(await node.delays.find(name, key));

describe('group and headers', () => {
  it('reach the handler', async () => {
    await node.delays.schedule('test.runs', {}, { after: 0, ...CARRIED });
    expect(carriedOf(await ran.promise)).toEqual(CARRIED);
  });

  it('are not there when nobody gave them', async () => {
    await node.delays.schedule('test.runs', {}, { after: 0 });
    expect(carriedOf(await ran.promise)).toEqual(NOTHING);
  });

  const group = { group: CARRIED.group };
  it.each<[string, ScheduleOptions, object]>([
    ['both', CARRIED, CARRIED],
    ['a group alone', group, { ...group, headers: {} }],
    ['headers alone', { headers: CARRIED.headers }, { group: null, headers: CARRIED.headers }],
    ['neither', {}, NOTHING],
  ])('stand in the row: %s', async (_, given, expected) => {
    const key = JSON.stringify(given);
    await node.delays.schedule('test.later', {}, { ...LATER, key, ...given });
    expect(await found(key)).toEqual(expected);
    // Without a key, with others, and in a transaction, other statements write it.
    await node.delays.scheduleMany([
      { name: 'test.later', payload: {}, ...LATER, key: `${key} many`, ...given },
      { name: 'test.later', payload: {}, ...LATER, key: `${key} plain` },
      { name: 'test.keyless', payload: {}, ...LATER, ...given },
    ]);
    await node.dataSource.transaction((manager) =>
      node.delays.schedule('test.later', {}, { ...LATER, key: `${key} own`, manager, ...given }),
    );
    const [keyless] = (await node.admin.list({ name: 'test.keyless' })).slice(-1);
    expect(carriedOf(keyless ?? null)).toEqual(expected);
    expect(await found(`${key} many`)).toEqual(expected);
    expect(await found(`${key} own`)).toEqual(expected);
    expect(await found(`${key} plain`)).toEqual(NOTHING);
  });

  it('are replaced with the delay, and kept by a reschedule', async () => {
    const options = { ...LATER, key: 'replaced' };
    await node.delays.schedule('test.later', {}, { ...options, ...CARRIED });
    await node.delays.reschedule('test.later', 'replaced', { after: '2h' });
    expect(await found('replaced')).toEqual(CARRIED);
    await node.delays.schedule('test.later', {}, { ...options, group: 'another' });
    expect(await found('replaced')).toEqual({ group: 'another', headers: {} });
    await node.delays.schedule('test.later', {}, options);
    expect(await found('replaced')).toEqual(NOTHING);
  });

  it.each<[string, ScheduleOptions, object]>([
    ['replaced', CARRIED, CARRIED],
    ['left out', {}, NOTHING],
  ])('of a handler that schedules its own key are %s', async (key, given, expected) => {
    next = given;
    const superseded = node.next('superseded');
    await node.delays.schedule('test.again', {}, { after: 0, key, group: 'first' });
    await superseded;
    expect(await found(key, 'test.again')).toEqual(expected);
  });

  it('a group is a filter', async () => {
    const inGroup = { ...LATER, group: 'filtered' };
    await node.delays.scheduleMany([
      { name: 'test.later', payload: {}, ...inGroup },
      { name: 'test.other', payload: {}, ...inGroup },
      { name: 'test.later', payload: {}, ...LATER },
    ]);
    expect(await node.admin.count({ group: 'filtered' })).toBe(2);
    expect(await node.admin.cancel({ group: 'filtered' })).toMatchObject({ cancelled: 2 });
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
    await expect(node.delays.schedule('test.later', {}, given)).rejects.toMatchObject({ field });
  });
});
