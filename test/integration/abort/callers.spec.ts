import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { CancelOptions, CancelResult, DelayContext } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { Notifier } from '../../../src/delay-queue/cluster/notifier.js';
import {
  batchHandler,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
  signal,
} from '../../support/delay-node.js';
import { ABORT, TwoNodes, verdicts } from './support/two-nodes.js';

const NAME = 'test.work';
const KEY = 'k';

const two = new TwoNodes();

const giveUp = async ({ signal: aborted }: DelayContext): Promise<void> => {
  await once(aborted, 'abort');
  aborted.throwIfAborted();
};

/** A delay whose handler gives up when it is told to, and which runs. */
async function running(): Promise<{ id: string; attempts: number[] }> {
  const attempts: number[] = [];
  const begun = signal();
  await two.start([
    fencedHandler(NAME, async ({ attempt }, ctx) => {
      attempts.push(attempt);
      await ctx.manager.query('INSERT INTO effect VALUES ($1)', [KEY]);
      begun.resolve();
      if (attempts.length === 1) await giveUp(ctx);
    }),
  ]);
  const { id } = await two.asks.delays.schedule(NAME, null, { after: 0, key: KEY });
  await begun.promise;
  return { id, attempts };
}

describe('in a transaction of its caller', () => {
  it('a rollback leaves the delay as it was: it runs again, and has spent no attempt', async () => {
    const { attempts } = await running();
    const completed = two.runs.next('completed');
    const told: CancelResult[] = [];
    await expect(
      two.asks.dataSource.transaction(async (manager) => {
        told.push(await two.asks.delays.cancel(NAME, KEY, { ...ABORT, manager }));
        throw new Error('changed its mind');
      }),
    ).rejects.toThrow('changed its mind');
    expect(verdicts(told)).toEqual(['cancelled']);
    await completed;
    expect(attempts).toEqual([1, 1]);
    expect(await two.effects()).toEqual([KEY]);
  });

  it.each(['REPEATABLE READ', 'SERIALIZABLE'] as const)(
    '%s is refused, and what runs goes on',
    async (isolation) => {
      const goOn = signal();
      const begun = signal();
      await two.start([
        plainHandler(NAME, async (_, ctx) => {
          begun.resolve();
          await Promise.race([goOn.promise, giveUp(ctx)]);
        }),
      ]);
      await two.asks.delays.schedule(NAME, null, { after: 0, key: KEY });
      await begun.promise;
      const completed = two.runs.next('completed');
      await expect(
        two.asks.dataSource.transaction(isolation, (manager) =>
          two.asks.delays.cancel(NAME, KEY, { ...ABORT, manager }),
        ),
      ).rejects.toMatchObject({ code: 'DELAY_INVALID', field: 'running' });
      goOn.resolve();
      await completed;
    },
  );
});

it('of many at a time one is told cancelled, and the others what the row says then', async () => {
  await running();
  const told = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      (n % 2 === 0 ? two.asks : two.runs).delays.cancel(NAME, KEY, ABORT),
    ),
  );
  expect(verdicts(told).toSorted()).toEqual([...Array<string>(7).fill('absent'), 'cancelled']);
  expect(await two.effects()).toEqual([]);
});

describe('a list', () => {
  it('answers for each: what waits, what runs, by key or id, and what is not there', async () => {
    const { id } = await running();
    const { delays, admin } = two.asks;
    await delays.schedule(NAME, null, { after: '1h', key: 'waits' });
    const keyless = await delays.schedule(NAME, null, { after: '1h' });
    const targets = [
      { name: NAME, key: 'waits' },
      { id },
      { name: NAME, key: 'x' },
      { id: keyless.id },
    ] as const;
    expect(verdicts(await admin.cancel(targets, ABORT))).toEqual([
      'cancelled',
      'cancelled',
      'absent',
      'cancelled',
    ]);
    expect(await two.effects()).toEqual([]);
  });

  it('in a transaction is all of that transaction, in a rollback too', async () => {
    await running();
    const { delays, dataSource } = two.asks;
    await delays.schedule(NAME, null, { after: '1h', key: 'waits' });
    const targets = [
      { name: NAME, key: KEY },
      { name: NAME, key: 'waits' },
    ] as const;
    const completed = two.runs.next('completed');
    const told: CancelResult[] = [];
    await expect(
      dataSource.transaction(async (manager) => {
        told.push(...(await delays.cancelMany(targets, { ...ABORT, manager })));
        throw new Error('changed its mind');
      }),
    ).rejects.toThrow('changed its mind');
    expect(verdicts(told)).toEqual(['cancelled', 'cancelled']);
    await completed;
    expect(await delays.find(NAME, 'waits')).toMatchObject({ state: 'scheduled' });
  });
});

describe('a handler that aborts', () => {
  type Act = (ctx: DelayContext & { manager?: EntityManager }) => Promise<void>;

  it.each([
    ['plain', 'joined'],
    ['transactional', 'joined'],
    ['transactional', 'own'],
    ['plain batch', 'joined'],
    ['transactional batch', 'joined'],
    ['transactional batch', 'own'],
  ] as const)('its own call (%s, %s) is told running at once, and goes on', async (kind, how) => {
    const told: CancelResult[] = [];
    const act: Act = async ({ manager }) => {
      const options: CancelOptions = { ...ABORT, manager: how === 'own' ? 'own' : manager };
      told.push(await two.runs.delays.cancel(NAME, KEY, options));
      told.push(...(await two.runs.delays.cancelMany([{ name: NAME, key: KEY }], options)));
    };
    const handlers = {
      plain: plainHandler(NAME, (_, ctx) => act(ctx)),
      transactional: fencedHandler(NAME, (_, ctx) => act(ctx)),
      'plain batch': batchHandler(NAME, (_, ctx) => act(ctx), { batch: 2 }),
      'transactional batch': fencedBatchHandler(NAME, (_, ctx) => act(ctx), { batch: 2 }),
    };
    await two.start([handlers[kind]]);
    const completed = two.runs.next('completed');
    await two.asks.delays.schedule(NAME, null, { after: 0, key: KEY });
    expect(await completed).toMatchObject({ attempt: 1 });
    expect(verdicts(told)).toEqual(['running', 'running']);
  });

  it('another one, which aborts it in turn: neither waits for ever, and what was cut runs again', async () => {
    const begun = { a: signal(), b: signal() };
    const done: string[] = [];
    await two.start([
      fencedHandler(NAME, async ({ key, attempt }, { manager }) => {
        const [own, other] = key === 'a' ? (['a', 'b'] as const) : (['b', 'a'] as const);
        expect(attempt).toBe(1);
        if (done.includes(own)) return;
        begun[own].resolve();
        await begun[other].promise;
        done.push(own);
        await two.runs.delays.cancel(NAME, other, { ...ABORT, manager });
      }),
    ]);
    const items = ['a', 'b'].map((key) => ({ name: NAME, payload: null, key, after: 0 }) as const);
    await two.asks.delays.scheduleMany(items);
    await two.until('SELECT id FROM delay_queue.delay', ({ length }) => length === 0);
    expect(done.toSorted()).toEqual(['a', 'b']);
  });
});

describe('what is asked', () => {
  it('of an earlier attempt is no matter of a later one', async () => {
    const goOn = signal();
    const { id } = await (async () => {
      const begun = signal();
      await two.start([
        plainHandler(NAME, async (_, ctx) => {
          begun.resolve();
          await Promise.race([goOn.promise, giveUp(ctx)]);
        }),
      ]);
      const scheduled = await two.asks.delays.schedule(NAME, null, { after: 0, key: KEY });
      await begun.promise;
      return scheduled;
    })();
    const [row] = await two.sql<{ epoch: number }>('SELECT epoch::int FROM delay_queue.delay');
    const heard = two.heard();
    for (const epoch of [row!.epoch - 1, row!.epoch + 1]) {
      await two.sql(`SELECT pg_notify('delay_queue', $1)`, [`a[[${id},${epoch}]]`]);
    }
    await heard(2);
    const completed = two.runs.next('completed');
    goOn.resolve();
    expect(await completed).toMatchObject({ attempt: 1 });
    expect(two.told).toEqual([['completed', KEY]]);
  });

  it('and not heard is asked again', async () => {
    await running();
    // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
    const { abort } = Notifier.prototype;
    let lost = 0;
    Notifier.prototype.abort = async function loses(claims) {
      if (lost >= 2) return abort.call(this, claims);
      lost += 1;
    };
    try {
      const told = await two.asks.delays.cancel(NAME, KEY, ABORT);
      expect(told).toMatchObject({ verdict: 'cancelled' });
    } finally {
      Notifier.prototype.abort = abort;
    }
    expect(lost).toBe(2);
  });

  it.each([
    [{ running: 'kill' }, 'running'],
    [{ running: null }, 'running'],
    [{ abortWithin: '1s' }, 'abortWithin'],
    [{ running: 'leave', abortWithin: '1s' }, 'abortWithin'],
    [{ running: 'abort', abortWithin: 0 }, 'abortWithin'],
    [{ running: 'abort', abortWithin: '2h' }, 'abortWithin'],
    [{ running: 'abort', manager: null }, 'manager'],
    [{ run: 'abort' }, 'options.run'],
  ])('in the wrong way is refused: %j', async (options, field) => {
    await two.start([]);
    const { delays, admin } = two.asks;
    const wrong = options as CancelOptions;
    const target = { name: NAME, key: KEY } as const;
    const refused = { code: 'DELAY_INVALID', field };
    await expect(delays.cancel(NAME, KEY, wrong)).rejects.toMatchObject(refused);
    await expect(delays.cancelMany([target], wrong)).rejects.toMatchObject(refused);
    await expect(admin.cancel([target], wrong)).rejects.toMatchObject(refused);
  });

  it('by a filter is refused: what it matches changes when it ends', async () => {
    await two.start([]);
    await expect(
      two.asks.admin.cancel({ state: 'running' }, { running: 'abort' } as object),
    ).rejects.toMatchObject({ code: 'DELAY_INVALID', field: 'options.running' });
  });
});
