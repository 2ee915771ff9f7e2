import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Delay,
  DelayInvalidError,
  DelayPayloadError,
  OnDeadDelay,
  OnDelay,
} from 'nestjs-delay-queue';
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

const LATER = { after: '1h' } as const;

/** Old rows have the amount as a text of euros, new ones in cents. */
const Old = z
  .object({ euros: z.string() })
  .transform(({ euros }) => ({ cents: Number(euros) * 100 }));
const Current = z.object({ cents: z.number().int() });
const Amount = z.union([Current, Old]);

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
const Broken = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: () => {
      throw new RangeError('the schema is broken');
    },
  },
} as const;

let seen: unknown[];

class Dying {
  @OnDelay('test.dying', { payload: Amount })
  on(): void {}

  @OnDeadDelay('test.dying')
  gaveUp({ payload }: Delay<'test.dying'>): void {
    seen.push(payload);
  }
}

class Decorated {
  @OnDelay('test.decorated', { payload: Amount })
  on({ payload }: Delay<'test.decorated'>): void {
    seen.push(payload);
  }
}

const take = ({ payload }: { payload: unknown }): void => void seen.push(payload);
const takeAll = (delays: { key: string | null }[]): void =>
  void seen.push(delays.length > 0, ...delays.map(({ key }) => key));

const node = new OneNode({
  providers: [
    plainHandler('test.plain', take),
    fencedHandler('test.fenced', take),
    batchHandler('test.batch', takeAll, { batch: 10 }),
    fencedBatchHandler('test.fenced-batch', takeAll, { batch: 10 }),
    plainHandler('test.known', take),
    plainHandler('test.broken', take, { backoff: { base: '1m' } }),
    Decorated,
    Dying,
  ],
  options: {
    payloads: {
      'test.plain': Amount,
      'test.fenced': Amount,
      'test.batch': Amount,
      'test.fenced-batch': Amount,
      'test.known': Known,
      'test.broken': Broken,
      'test.produced': Items,
    },
  },
});

beforeEach(() => {
  seen = [];
  answered = signal();
  answered.resolve();
});

/** As another version of the application has stored it. */
const stored = (name: string, key: string, payload: unknown): Promise<unknown> =>
  node.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     VALUES ($1, $2, $3, clock_timestamp() + '1 h', clock_timestamp() + '1 h', clock_timestamp())`,
    [name, key, JSON.stringify(payload)],
  );

const priced = (key: string, price: number | string) => ({
  name: 'test.produced' as const,
  key,
  payload: { items: [{ price }] },
  ...LATER,
});

const rows = () => node.sql('SELECT key, payload FROM delay_queue.delay ORDER BY key');

describe('schedule', () => {
  it('refuses what does not fit, with the path, before anything is written', async () => {
    const wrong = node.delays.schedule('test.produced', { items: [{ price: '1' }] }, LATER);
    await expect(wrong).rejects.toBeInstanceOf(DelayInvalidError);
    await expect(wrong).rejects.toMatchObject({
      field: 'payload.items[0].price',
      why: expect.stringContaining('expected number'),
    });
    await expect(node.delays.schedule('test.decorated', {}, LATER)).rejects.toThrow('payload');
    expect(await rows()).toEqual([]);
  });

  it('tells of all that does not fit', async () => {
    const items: Json[] = [{ price: '1' }, { price: 2 }, { cost: 3 }];
    await expect(node.delays.schedule('test.produced', { items }, LATER)).rejects.toMatchObject({
      field: 'payload.items[0].price',
      why: expect.stringContaining('; payload.items[2].price: '),
    });
  });

  it('of many names the item, and writes none of them', async () => {
    await expect(
      node.delays.scheduleMany([priced('a', 1), priced('b', 'x')]),
    ).rejects.toMatchObject({
      field: 'items[1].payload.items[0].price',
    });
    expect(await rows()).toEqual([]);
  });

  it('stores what was given, and the handler gets what the schema makes of it, once', async () => {
    await node.delays.schedule('test.plain', { euros: '12' }, { ...LATER, key: 'k' });
    expect(await rows()).toEqual([{ key: 'k', payload: { euros: '12' } }]);
    expect(await node.delays.find('test.plain', 'k')).toMatchObject({ payload: { euros: '12' } });
    const completed = node.next('completed');
    await node.admin.runNow({ name: 'test.plain' });
    await completed;
    expect(seen).toEqual([{ cents: 1_200 }]);
  });

  it('a schema that throws is heard, and nothing is written', async () => {
    await expect(node.delays.schedule('test.broken', 1, LATER)).rejects.toThrow(RangeError);
    expect(await rows()).toEqual([]);
  });
});

describe('an asynchronous schema', () => {
  it('refuses as a synchronous one, also one of many', async () => {
    const item = (id: string) => ({ name: 'test.known', payload: { id }, ...LATER }) as const;
    const refusal = { field: 'payload.id', why: 'is not known' };
    await expect(
      node.delays.schedule('test.known', { id: 'unknown' }, LATER),
    ).rejects.toMatchObject(refusal);
    await expect(node.delays.scheduleMany([item('a'), item('unknown')])).rejects.toMatchObject({
      ...refusal,
      field: 'items[1].payload.id',
    });
    expect(await rows()).toEqual([]);
    await node.delays.scheduleMany([item('a'), item('b')]);
    expect(await rows()).toMatchObject([{ payload: { id: 'a' } }, { payload: { id: 'b' } }]);
  });

  it('takes the payload as it was when the call was made', async () => {
    answered = signal();
    const payload = { id: 'before' };
    const scheduled = node.delays.schedule('test.known', payload, LATER);
    payload.id = 'after';
    answered.resolve();
    await scheduled;
    expect(await rows()).toMatchObject([{ payload: { id: 'before' } }]);
  });

  it('that answers when the transaction of the call is over: refused, nothing is written', async () => {
    const runner = node.dataSource.createQueryRunner();
    const { manager } = runner;
    await runner.startTransaction();
    answered = signal();
    const item = { name: 'test.known', payload: { id: 'a' }, ...LATER } as const;
    const calls = [
      node.delays.schedule('test.known', { id: 'a' }, { ...LATER, manager }),
      node.delays.scheduleMany([item, item], { manager }),
    ];
    await runner.rollbackTransaction();
    answered.resolve();
    for (const call of calls) await expect(call).rejects.toMatchObject({ field: 'manager' });
    await runner.release();
    expect(await rows()).toEqual([]);
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

describe.each(['test.plain', 'test.fenced', 'test.decorated'] as const)('%s', (name) => {
  it('what no longer fits is a dead letter at once, with the issues, and calls no handler', async () => {
    await stored(name, 'k', { cents: 'many' });
    const dead = node.next('dead');
    await node.admin.runNow([{ name, key: 'k' }]);
    const { cause, error, attempt } = await dead;
    expect(attempt).toBe(1);
    expect(cause).toBeInstanceOf(DelayPayloadError);
    expect((cause as DelayPayloadError).issues[0]?.path).toMatch(/^payload/);
    expect(error).toContain('DelayPayloadError: payload');
    expect(await node.delays.find(name, 'k')).toMatchObject({ state: 'dead', lastError: error });
    expect(seen).toEqual([]);
  });

  it('an older shape is brought up to date by the schema', async () => {
    await stored(name, 'k', { euros: '3' });
    const completed = node.next('completed');
    await node.admin.runNow([{ name, key: 'k' }]);
    await completed;
    expect(seen).toEqual([{ cents: 300 }]);
  });
});

describe.each(['test.batch', 'test.fenced-batch'] as const)('%s', (name) => {
  it('loses only those that do not fit', async () => {
    for (const key of ['a', 'b', 'c']) {
      await stored(name, key, key === 'b' ? { wrong: true } : { cents: 1 });
    }
    const dead = node.next('dead');
    await node.admin.runNow({ name });
    expect(await dead).toMatchObject({ key: 'b', attempt: 1 });
    await node.until('SELECT key FROM delay_queue.delay', (left) => left.length === 1);
    expect(new Set(seen)).toEqual(new Set(['a', 'c', true]));
  });

  it('of which none fits calls no handler', async () => {
    for (const key of ['a', 'b']) await stored(name, key, { wrong: true });
    await node.admin.runNow({ name });
    const dead = `SELECT key FROM delay_queue.delay WHERE wake_at = 'infinity'`;
    await node.until(dead, (left) => left.length === 2);
    expect(seen).toEqual([]);
  });
});

describe('a schema', () => {
  it('that the payload does not fit hides it from no @OnDeadDelay', async () => {
    await stored('test.dying', 'k', { lost: true });
    const dead = node.next('dead', ({ name }) => name === 'test.dying');
    await node.admin.runNow([{ name: 'test.dying', key: 'k' }]);
    expect((await dead).error).toContain('DelayPayloadError');
    expect(seen).toEqual([{ lost: true }]);
  });

  it('that throws when the delay runs is a failure that is tried again', async () => {
    await stored('test.broken', 'k', 1);
    const retrying = node.next('retrying');
    await node.admin.runNow([{ name: 'test.broken', key: 'k' }]);
    expect(await retrying).toMatchObject({ error: 'RangeError: the schema is broken' });
  });
});
