import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayInvalidError, type ScheduleItem } from 'nestjs-delay-queue';
import { parseDurationMs } from '../../src/delay-queue/validation/duration.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';

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

const rows = async (): Promise<number> =>
  (await node.dataSource.query('SELECT count(*)::int AS rows FROM delay_queue.delay'))[0].rows;

/** What both ways to schedule say to it; the table must stay empty. */
async function refusalsOf(given: object): Promise<unknown[]> {
  const item = { name: 'test.h', payload: null, after: '1h', ...given } as ScheduleItem;
  const { name, payload, ...options } = item;
  const error: unknown = await node.delays
    .schedule(name, payload, options as { after: number })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DelayInvalidError);
  const many: unknown = await node.delays
    .scheduleMany([{ name: 'test.h', payload: 1, after: '1h' }, item])
    .catch((thrown: unknown) => thrown);
  expect(await rows()).toBe(0);
  return [error, many];
}

const refusals = (field: string) => [
  { code: 'DELAY_INVALID', field },
  { code: 'DELAY_INVALID', field: `items[1].${field}` },
];

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

const cycle: Record<string, unknown> = {};
cycle['self'] = { again: cycle };

const PAYLOADS: [what: string, payload: unknown, field: string][] = [
  ['NUL in a text', { text: 'a\0b' }, 'payload.text'],
  ['NUL in a key', { 'a\0b': 1 }, 'payload["a\\u0000b"]'],
  ['a lone surrogate', ['\uD800'], 'payload[0]'],
  ['a depth of 20,000', nested(20_000), `payload${'[0]'.repeat(64)}`],
  ['a bigint', { n: 1n }, 'payload.n'],
  ['2^53 + 1', { n: 2 ** 53 + 2 }, 'payload.n'],
  ['__proto__ as a key', JSON.parse('{"__proto__": {"admin": true}}'), 'payload.__proto__'],
  ['a cycle', cycle, 'payload.self.again'],
  ['10 MB', 'x'.repeat(10_000_000), 'payload'],
  ['undefined', undefined, 'payload'],
  ['undefined inside', { a: undefined }, 'payload.a'],
  ['a Date', { at: new Date(0) }, 'payload.at'],
  ['a Map', new Map([['a', 1]]), 'payload'],
  ['a function', { f: () => 1 }, 'payload.f'],
  ['NaN', { n: NaN }, 'payload.n'],
  ['Infinity', [1, Infinity], 'payload[1]'],
];

const TIMES: [what: string, when: object, field: string][] = [
  ['NaN', { after: NaN }, 'after'],
  ['Infinity', { after: Infinity }, 'after'],
  ['a negative one', { after: -1 }, 'after'],
  ["'30x'", { after: '30x' }, 'after'],
  ["''", { after: '' }, 'after'],
  ['null', { after: null }, 'after'],
  ['1,000 years', { after: '365250d' }, 'after'],
  ['an Invalid Date', { after: undefined, at: new Date(NaN) }, 'at'],
  ['the year 275760', { after: undefined, at: new Date(8.64e15) }, 'at'],
  ['a year before Christ', { after: undefined, at: new Date(-1e14) }, 'at'],
  ['a text as a date', { after: undefined, at: '2030-01-01' }, 'at'],
  ['two at once', { after: 1, at: new Date() }, 'at'],
  ['none at all', { after: undefined }, 'after|at'],
];

const OTHERS: [what: string, given: object, field: string][] = [
  ['an empty key', { key: '' }, 'key'],
  ['a key of 256 characters', { key: 'x'.repeat(256) }, 'key'],
  ['a key with NUL', { key: 'a\0' }, 'key'],
  ['a key with half a surrogate pair', { key: '😀'.slice(0, 1) }, 'key'],
  ['a number as a key', { key: 42 }, 'key'],
  ['a name with a quote', { name: `test.'; DROP TABLE delay; --` }, 'name'],
  ['no attempts', { maxAttempts: 0 }, 'maxAttempts'],
  ['an unknown conflict', { onConflict: 'ignore' }, 'onConflict'],
  ['a misspelt option', { maxAttemps: 3 }, 'options.maxAttemps'],
];

describe('is refused with its field named, and nothing is stored', () => {
  it.each(PAYLOADS)('as a payload: %s', async (_what, payload, field) => {
    expect(await refusalsOf({ payload })).toMatchObject(refusals(field));
  });

  it.each(TIMES)('as a time: %s', async (_what, when, field) => {
    expect(await refusalsOf(when)).toMatchObject(refusals(field));
  });

  it.each(OTHERS)('as an option: %s', async (_what, given, field) => {
    expect(await refusalsOf(given)).toMatchObject(refusals(field));
  });

  it.each(TIMES.slice(0, 5))('as a time of reschedule: %s', async (_what, when, field) => {
    const to = when as { after: number };
    await expect(node.delays.reschedule('test.h', 'k', to)).rejects.toMatchObject({ field });
    const extendBy = { extendBy: to.after };
    await expect(node.delays.reschedule('test.h', 'k', extendBy)).rejects.toMatchObject({
      field: 'extendBy',
    });
  });

  it('as a key of cancel, find, history and retryDead', async () => {
    const key = 42 as never;
    for (const call of ['cancel', 'find', 'history', 'retryDead'] as const) {
      await expect(node.delays[call]('test.h', key)).rejects.toMatchObject({ field: 'key' });
    }
  });
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
      `SELECT due_at, wake_at, (extract(epoch FROM created_at) * 1000)::float8 AS created_ms
       FROM delay_queue.delay`,
    );
    expect(row.due_at).toEqual(dueAt);
    expect(row.wake_at).toEqual(dueAt);
    const wanted =
      'at' in when ? when.at.getTime() : row.created_ms + parseDurationMs(when.after, '');
    // `after` counts from the row's own clock reading; the due time is then rounded up.
    expect(dueAt.getTime()).toBe(Math.ceil(wanted));
    // One that is due now comes and goes while the far one stays.
    const completed = node.next('completed');
    await node.delays.schedule('test.echo', 1, { after: 0 });
    await completed;
    expect(fired).not.toContain(id);
    expect(await node.delays.find('test.far', 'far')).toMatchObject({ state: 'scheduled', dueAt });
    const beyond = await node.delays.reschedule('test.far', 'far', { extendBy: '36525d' });
    expect(beyond).toMatchObject({ verdict: 'rescheduled' });
    // Extended again and again it stops where `at` stops, and never leaves what Postgres can say.
    const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
    expect((await node.delays.find('test.far', 'far'))?.dueAt).toEqual(
      new Date(Math.min(last, dueAt.getTime() + 36_525 * 86_400_000)),
    );
  });

  it('a past one counts as due now, and says so truthfully', async () => {
    const completed = node.next('completed', ({ key }) => key === 'past');
    const at = new Date('1970-01-01T00:00:00.001Z');
    const { dueAt } = await node.delays.schedule('test.echo', 1, { at, key: 'past' });
    expect(dueAt).toEqual(at);
    expect((await completed).latenessMs).toBeGreaterThan(50 * 365 * 86_400_000);
  });
});
