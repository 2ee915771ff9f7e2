import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Delay, DelayPayloadError, OnDeadDelay, OnDelay } from 'nestjs-delay-queue';
import { z } from 'zod';
import {
  batchHandler,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
  signal,
} from '../support/delay-node.js';
import type { Json } from '../support/delay-payloads.js';
import { OneNode } from '../support/one-node.js';

const ATTEMPTS = 2;
const LATER = { after: '1h' } as const;

/** Old rows have the amount as a text of euros, new ones in cents. */
const Amount = z.union([
  z.object({ cents: z.number().int() }),
  z.object({ euros: z.string() }).transform(({ euros }) => ({ cents: Number(euros) * 100 })),
]);

/** Holds back what an asynchronous schema answers. */
let answered = signal();
const Known = z.object({ id: z.string() }).refine(
  async ({ id }) => {
    await answered.promise;
    return id !== 'unknown';
  },
  { path: ['id'], message: 'is not known' },
);

const Items = z.object({ items: z.array(z.object({ price: z.number() })) });
let thrown: unknown;
const validate = (): never => {
  throw thrown;
};
const Broken = { '~standard': { version: 1, vendor: 'test', validate } } as const;

let seen: unknown[];
const take = ({ payload }: { payload: unknown }): void => void seen.push(payload);

class ExhaustedDelay {
  @OnDelay('test.dying', { payload: Amount })
  on(): void {}

  @OnDeadDelay('test.dying')
  gaveUp(delay: Delay<'test.dying'>): void {
    take(delay);
  }
}

const takeAll = (delays: { key: string | null }[]): void =>
  void seen.push(delays.length > 0, ...delays.map(({ key }) => key));

const node = new OneNode({
  providers: [
    plainHandler('test.plain', take),
    fencedHandler('test.fenced', take),
    batchHandler('test.batch', takeAll, { batch: 10 }),
    fencedBatchHandler('test.fenced-batch', takeAll, { batch: 10 }),
    plainHandler('test.broken', take, { backoff: { base: '1m' } }),
    ExhaustedDelay,
  ],
  options: {
    maxAttempts: ATTEMPTS,
    payloads: {
      'test.plain': Amount,
      'test.fenced': Amount,
      'test.batch': Amount,
      'test.fenced-batch': Amount,
      'test.known': Known,
      'test.broken': Broken,
      'test.items': Items,
    },
  },
});

beforeEach(() => {
  seen = [];
  thrown = new RangeError('the schema is broken');
  answered = signal();
  answered.resolve();
});

/** As another version of the application has stored it. */
const stored = (name: string, key: string, payload: unknown): Promise<unknown> =>
  node.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT $1, $2, $3, at, at, at FROM (SELECT clock_timestamp() + '1 h' AS at) AS later`,
    [name, key, JSON.stringify(payload)],
  );

const payloads = async (): Promise<unknown[]> =>
  (await node.sql('SELECT payload FROM delay_queue.delay ORDER BY id')).map(
    ({ payload }) => payload,
  );

const knowing = (...ids: string[]) =>
  ids.map((id) => ({ name: 'test.known', payload: { id }, ...LATER }) as const);

const priced = (...items: Json[]) =>
  ({ name: 'test.items', payload: { items }, ...LATER }) as const;

describe('what does not fit is refused with its path, before anything is written:', () => {
  const good = priced({ price: 1 });
  const bad = priced({ price: 'x' }, { price: 2 }, {});

  it.each<[what: string, call: () => Promise<unknown>, field: string, why: string]>([
    [
      'all of it is told',
      () => node.delays.schedule('test.items', bad.payload, LATER),
      'payload.items[0].price',
      '; payload.items[2].price: ',
    ],
    [
      'by the schema of a handler',
      () => node.delays.schedule('test.dying', {}, LATER),
      'payload',
      '',
    ],
    [
      'one of many',
      () => node.delays.scheduleMany([good, bad]),
      'items[1].payload.items[0].price',
      'expected number',
    ],
    [
      'by an asynchronous schema',
      () => node.delays.schedule('test.known', { id: 'unknown' }, LATER),
      'payload.id',
      'is not known',
    ],
    [
      'one of many by an asynchronous schema',
      () => node.delays.scheduleMany(knowing('a', 'unknown')),
      'items[1].payload.id',
      'is not known',
    ],
  ])('%s', async (_, call, field, why) => {
    const refusal = { code: 'DELAY_INVALID', field, why: expect.stringContaining(why) };
    await expect(call()).rejects.toMatchObject(refusal);
    expect(await payloads()).toEqual([]);
  });
});

describe('an asynchronous schema', () => {
  it('takes payloads as they were when the call was made, many in their order', async () => {
    answered = signal();
    const payload = { id: 'before' };
    const scheduled = node.delays.schedule('test.known', payload, LATER);
    payload.id = 'after';
    answered.resolve();
    await scheduled;
    await node.delays.scheduleMany(knowing('a', 'b'));
    expect(await payloads()).toEqual([{ id: 'before' }, { id: 'a' }, { id: 'b' }]);
  });

  it('that answers when the transaction of the call is over: refused, nothing is written', async () => {
    const { manager, rollback } = await node.begin();
    answered = signal();
    const calls = [
      node.delays.schedule('test.known', { id: 'a' }, { ...LATER, manager }),
      node.delays.scheduleMany(knowing('a', 'b'), { manager }),
    ];
    await rollback();
    answered.resolve();
    for (const call of calls) await expect(call).rejects.toMatchObject({ field: 'manager' });
    expect(await payloads()).toEqual([]);
  });

  it('whose refusal nobody waits for, because another was first, ends no process', async () => {
    const unhandled: unknown[] = [];
    const listener = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', listener);
    const manager = {} as never;
    const call = node.delays.schedule('test.known', { id: 'unknown' }, { ...LATER, manager });
    await expect(call).rejects.toMatchObject({ field: 'manager' });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listener);
    expect(unhandled).toEqual([]);
  });
});

describe.each(['test.plain', 'test.fenced'] as const)('%s', (name) => {
  it('gets what the schema makes, once, of what was given, which is what is stored', async () => {
    const payload = { euros: '12' };
    await node.delays.schedule(name, payload, { ...LATER, key: 'k' });
    expect(await payloads()).toEqual([payload]);
    expect(await node.delays.find(name, 'k')).toMatchObject({ payload });
    const completed = node.next('completed');
    await node.admin.runNow({ name });
    await completed;
    expect(seen).toEqual([{ cents: 1_200 }]);
  });

  it('is not called for what does not fit: a dead letter after all attempts, with the issues', async () => {
    await stored(name, 'k', { cents: 'many' });
    const dead = node.next('dead');
    await node.admin.runNow([{ name, key: 'k' }]);
    const { cause, error, attempt } = await dead;
    expect(attempt).toBe(ATTEMPTS);
    expect(cause).toBeInstanceOf(DelayPayloadError);
    expect((cause as DelayPayloadError).issues[0]?.path).toMatch(/^payload/);
    expect(error).toContain('DelayPayloadError: payload');
    expect(await node.delays.find(name, 'k')).toMatchObject({ state: 'dead', lastError: error });
    expect(seen).toEqual([]);
  });
});

it.each([
  ['test.batch', ['a', 'c', true]],
  ['test.fenced-batch', ['a', 'c', true]],
  ['test.batch', []],
  ['test.fenced-batch', []],
] as const)('%s is called with those that fit, if any: %j', async (name, called) => {
  for (const key of ['a', 'b', 'c']) {
    const fits = key !== 'b' && called.length > 0;
    await stored(name, key, fits ? { cents: 1 } : { wrong: true });
  }
  await node.admin.runNow({ name });
  await node.until(
    `SELECT wake_at = 'infinity' AS is_dead FROM delay_queue.delay`,
    (left) => left.length === (called.length > 0 ? 1 : 3) && left.every((row) => row['is_dead']),
  );
  expect(new Set(seen)).toEqual(new Set(called));
});

it('a schema that the payload does not fit hides it from no @OnDeadDelay', async () => {
  await stored('test.dying', 'k', { lost: true });
  const dead = node.next('dead');
  await node.admin.runNow([{ name: 'test.dying', key: 'k' }]);
  expect((await dead).error).toContain('DelayPayloadError');
  expect(seen).toEqual([{ lost: true }]);
});

it('a schema that throws is heard by the caller; when the delay runs, it is tried again', async () => {
  await expect(node.delays.schedule('test.broken', 1, LATER)).rejects.toThrow(RangeError);
  expect(await payloads()).toEqual([]);
  await stored('test.broken', 'k', 1);
  const retrying = node.next('retrying');
  await node.admin.runNow([{ name: 'test.broken', key: 'k' }]);
  expect(await retrying).toMatchObject({ error: 'RangeError: the schema is broken' });
});

it('whatever a schema throws, the delay is tried again', async () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  thrown = proxy;
  await stored('test.broken', 'k', 1);
  const retrying = node.next('retrying');
  await node.admin.runNow([{ name: 'test.broken', key: 'k' }]);
  expect(await retrying).toMatchObject({ key: 'k', attempt: 1 });
});
