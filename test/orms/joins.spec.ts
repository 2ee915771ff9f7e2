import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Delay,
  DelayInvalidError,
  OnDelay,
  type OwnTransactionDelayContext,
} from 'nestjs-delay-queue';
import { OneNode } from '../support/one-node.js';
import { plainHandler } from '../support/delay-node.js';
import { type Orm, ORMS, type Transaction } from './orms.js';

/** Calls with `tx`: what they write belongs to the transaction of the library, and to nothing else. */

const ran: string[] = [];
let close: (ctx: OwnTransactionDelayContext) => Promise<unknown>;

class Closes {
  @OnDelay('test.own', { transactional: 'own', backoff: { base: 1, jitter: 0 }, maxAttempts: 2 })
  async close(_: Delay<'test.own'>, ctx: OwnTransactionDelayContext): Promise<void> {
    await close(ctx);
  }

  /** Its timeout is for a first attempt; under load the next ones may exceed it as well. */
  @OnDelay('test.slow', {
    transactional: 'own',
    timeout: '200ms',
    backoff: { base: 1, jitter: 0 },
    maxAttempts: 50,
  })
  async closeLate(_: Delay<'test.slow'>, ctx: OwnTransactionDelayContext): Promise<void> {
    await close(ctx);
  }
}

const node = new OneNode({
  providers: [plainHandler('test.a', (delay) => void ran.push(delay.key ?? '')), Closes],
});

const LATER = { after: '1h' } as const;
const schedule = (key: string, { tx }: Pick<Transaction, 'tx'>, after: number | string = '1h') =>
  node.delays.schedule('test.a', { n: 1 }, { after: after as number, key, tx });
const found = async (key: string) => (await node.delays.find('test.a', key)) !== null;

/** A statement that fails the transaction, and whose error is swallowed. */
const fails = async ({ tx }: Transaction): Promise<unknown> =>
  await Promise.resolve(tx.query('SELECT 1/0 AS r', [])).catch(() => {});

let url: string;
beforeAll(async () => {
  ({ url } = node.dataSource.options as { url: string });
  // Prisma's adapter takes any zone for UTC.
  await node.sql(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET TimeZone = 'Asia/Tokyo'`);
  await node.sql(
    'CREATE TABLE purchases (id int PRIMARY KEY, status text NOT NULL DEFAULT $$UNPAID$$)',
  );
});

describe.each(Object.keys(ORMS))('%s', (name) => {
  let orm: Orm;
  beforeAll(async () => {
    orm = await ORMS[name]!(url);
  });
  beforeEach(() => node.sql('TRUNCATE purchases'));
  afterAll(() => orm.close());
  afterEach(() => void (ran.length = 0));

  const orders = async () => (await node.sql('SELECT id FROM purchases')).length;

  it('commits an order and its delay together', async () => {
    const scheduled = await orm.transaction(async (its) => {
      await its.insert(1);
      const result = await schedule('k', its);
      expect(await found('k')).toBe(false);
      expect(await node.delays.find('test.a', 'k', { tx: its.tx })).toMatchObject({
        payload: { n: 1 },
      });
      return result;
    });
    expect(scheduled).toEqual({
      verdict: 'scheduled',
      id: expect.any(String),
      dueAt: expect.any(Date),
    });
    expect(await orders()).toBe(1);
    expect(await node.delays.find('test.a', 'k')).toMatchObject({
      id: scheduled.id,
      payload: { n: 1 },
    });
  });

  it('rolls both back', async () => {
    const failing = orm.transaction(async (its) => {
      await its.insert(1);
      await schedule('k', its);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect([await orders(), await found('k')]).toEqual([0, false]);
  });

  it('answers each verdict as without it, and undoes each', async () => {
    await node.delays.schedule('test.a', { n: 1 }, { ...LATER, key: 'old' });
    await node.delays.schedule('test.a', { n: 1 }, { ...LATER, key: 'kept' });
    const verdicts: string[] = [];
    const failing = orm.transaction(async (its) => {
      const { tx } = its;
      const add = (result: { verdict: string }) => void verdicts.push(result.verdict);
      add(await schedule('old', its));
      add(
        await node.delays.schedule(
          'test.a',
          { n: 1 },
          { ...LATER, key: 'kept', onConflict: 'keep', tx },
        ),
      );
      add(await node.delays.reschedule('test.a', 'old', { after: '2h' }, { tx }));
      add(await node.delays.cancel('test.a', 'old', { tx }));
      add(await node.delays.cancel('test.a', 'old', { tx }));
      add(await node.delays.reschedule('test.a', 'old', LATER, { tx }));
      add(await node.delays.retryDead('test.a', 'old', { tx }));
      const items = ['x', 'kept'].map((key) => ({
        name: 'test.a' as const,
        payload: 1,
        key,
        ...LATER,
      }));
      for (const one of await node.delays.scheduleMany(items, { tx })) add(one);
      const targets = ['x', 'kept', 'nobody'].map((key) => ({ name: 'test.a' as const, key }));
      for (const one of await node.delays.cancelMany(targets, { tx })) add(one);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(verdicts).toEqual([
      'replaced',
      'kept',
      'rescheduled',
      'cancelled',
      'absent',
      'absent',
      'absent',
      'scheduled',
      'replaced',
      'cancelled',
      'cancelled',
      'absent',
    ]);
    expect([await found('old'), await found('kept'), await found('x')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('schedules what recurs, has headers and a group, and survives any text', async () => {
    const payload = {
      n: 1,
      text: `?'" :x $1 \\ \n 日本 ${'"'.repeat(3)}`,
      big: 9_007_199_254_740_991,
    };
    const headers = { 'x-?': '$1 :a' };
    await orm.transaction(async ({ tx }) => {
      await node.delays.schedule('test.a', payload, {
        ...LATER,
        key: "k'?$1",
        group: 'g',
        headers,
        tx,
      });
      await node.delays.schedule('test.a', { n: 1 }, { repeat: { every: '1h' }, key: 'r', tx });
    });
    expect(await node.delays.find('test.a', "k'?$1")).toMatchObject({
      payload,
      group: 'g',
      headers,
    });
    expect(await node.delays.find('test.a', 'r')).toMatchObject({ repeat: { every: 3_600_000 } });
  });

  it('takes and answers the same instant, whatever the time zone of its sessions', async () => {
    const at = new Date(Date.now() + 3_600_000);
    const [dueAt, inside] = await orm.transaction(async ({ tx }) => {
      const scheduled = await node.delays.schedule('test.a', { n: 1 }, { at, key: 'k', tx });
      return [scheduled.dueAt, await node.delays.find('test.a', 'k', { tx })] as const;
    });
    const outside = await node.delays.find('test.a', 'k');
    expect([dueAt, inside?.dueAt, outside?.dueAt]).toEqual([at, at, at]);
  });

  it('runs a delay that is due at once when the transaction commits', async () => {
    const completed = node.next('completed');
    await orm.transaction((its) => schedule('soon', its, 0));
    await completed;
    expect(ran).toEqual(['soon']);
  });

  it('writes nothing through a pool, and says so', async () => {
    const wrong = (async () => await schedule('k', { tx: orm.pool() }))();
    await expect(wrong).rejects.toBeInstanceOf(DelayInvalidError);
    await expect(wrong).rejects.toThrow(/^tx: /);
    expect(await found('k')).toBe(false);
  });

  it('writes nothing when its transaction is over', async () => {
    let stale!: Transaction;
    await orm.transaction(async (its) => {
      stale = its;
      await schedule('before', its);
    });
    await expect(schedule('after', stale)).rejects.toThrow();
    await orm
      .transaction(async (its) => {
        await its.insert(1);
        // Some libraries send it inside this transaction, on the same connection.
        await schedule('after', stale).catch(() => {});
      })
      .catch(() => {});
    if (name !== 'pg') expect(await found('after')).toBe(false);
    expect(await found('before')).toBe(true);
  });

  it('writes nothing that is not awaited after the end', async () => {
    let late!: Promise<unknown>;
    await orm
      .transaction(async (its) => {
        await schedule('before', its);
        late = schedule('late', its).catch((error: unknown) => error);
      })
      .catch(() => {});
    const isInside = (await late) instanceof Error ? 'refused' : 'inside';
    expect(await found('late')).toBe(isInside === 'inside' && (await found('before')));
  });

  it('takes parallel calls in turn', async () => {
    await orm.transaction(async (its) => {
      const keys = ['a', 'b', 'c', 'a'];
      const results = await Promise.all(keys.map((key) => schedule(key, its)));
      expect(results.map(({ verdict }) => verdict)).toEqual([
        'scheduled',
        'scheduled',
        'scheduled',
        'replaced',
      ]);
    });
    expect(await found('c')).toBe(true);
  });

  it('loses the delay of a failed transaction that seems to commit', async () => {
    await orm
      .transaction(async (its) => {
        await schedule('k', its);
        await its.insert(1);
        await fails(its);
        const refused = await schedule('again', its).catch((error: unknown) => error);
        expect(refused).toBeInstanceOf(Error);
      })
      .catch(() => {});
    expect([await found('k'), await found('again')]).toEqual([false, false]);
  });

  describe('a handler that completes its delay in it', () => {
    type First = (its: Transaction, ctx: OwnTransactionDelayContext) => Promise<unknown>;

    /** @returns how often it was called, until its transaction had removed the delay, and the orders */
    async function calls(first: First, name: 'test.own' | 'test.slow' = 'test.own') {
      let called = 0;
      close = async (ctx) => {
        called += 1;
        const isFirst = called === 1;
        await orm.transaction(async (its) => {
          if (isFirst) return await first(its, ctx);
          await its.insert(1);
          return await ctx.complete(its.tx);
        });
      };
      const ended = new Promise((end) => {
        // A transaction that commits behind the timeout of its attempt takes the delay from it.
        for (const event of ['completed', 'lost'] as const) node.events.once(event, end);
      });
      await node.delays.schedule(name, { n: 1 }, { after: 0, key: 'k' });
      await ended;
      expect(await node.delays.find(name, 'k')).toBeNull();
      expect(await node.delays.history(name, 'k')).toMatchObject([{ state: 'completed' }]);
      return [called, await orders()];
    }

    it('runs once', async () => {
      const first = async (its: Transaction, ctx: OwnTransactionDelayContext) => {
        await its.insert(1);
        await ctx.complete(its.tx);
      };
      expect(await calls(first)).toEqual([1, 1]);
    });

    it('runs again when it rolls back', async () => {
      const first = async (its: Transaction, ctx: OwnTransactionDelayContext) => {
        await its.insert(1);
        await ctx.complete(its.tx);
        throw new Error('no');
      };
      expect(await calls(first)).toEqual([2, 1]);
    });

    it('runs again when it seems to commit', async () => {
      const first = async (its: Transaction, ctx: OwnTransactionDelayContext) => {
        await its.insert(1);
        await ctx.complete(its.tx);
        await fails(its);
      };
      expect(await calls(first)).toEqual([2, 1]);
    });

    it('runs again when it completes through the pool', async () => {
      const first = async (_: Transaction, ctx: OwnTransactionDelayContext) => {
        await ctx.complete(orm.pool());
      };
      expect(await calls(first)).toEqual([2, 1]);
    });

    describe('and whose timeout passes in it', () => {
      const timedOut = async ({ signal }: OwnTransactionDelayContext) => {
        if (!signal.aborted) await once(signal, 'abort');
      };

      it('cannot complete any more, and runs again', async () => {
        let late: unknown;
        const first: First = async (its, ctx) => {
          await its.insert(1);
          await timedOut(ctx);
          try {
            await ctx.complete(its.tx);
          } catch (error) {
            late = error;
            throw error;
          }
        };
        const [called, made] = await calls(first, 'test.slow');
        expect([called! > 1, made]).toEqual([true, 1]);
        expect(late).toMatchObject({ code: 'DELAY_TRANSACTION_OVER' });
      });

      it('runs once when it has completed, and commits', async () => {
        const first: First = async (its, ctx) => {
          await its.insert(1);
          await ctx.complete(its.tx);
          await timedOut(ctx);
        };
        expect(await calls(first, 'test.slow')).toEqual([1, 1]);
      });

      it('runs again when it has completed, and rolls back', async () => {
        const first: First = async (its, ctx) => {
          await its.insert(1);
          await ctx.complete(its.tx);
          await timedOut(ctx);
          throw new Error('no');
        };
        const [called, made] = await calls(first, 'test.slow');
        expect([called! > 1, made]).toEqual([true, 1]);
      });
    });

    it('runs once when its transaction commits and it throws behind that', async () => {
      let called = 0;
      close = async (ctx) => {
        called += 1;
        await orm.transaction(async (its) => {
          await its.insert(1);
          await ctx.complete(its.tx);
        });
        throw new Error('no');
      };
      const completed = node.next('completed');
      await node.delays.schedule('test.own', { n: 1 }, { after: 0, key: 'k' });
      await completed;
      expect([called, await orders()]).toEqual([1, 1]);
    });
  });

  it('rolls back to a savepoint', async () => {
    await orm.transaction(async (its) => {
      await schedule('outer', its);
      if (its.nested === undefined) return;
      const failing = its.nested(async (inner) => {
        await schedule('inner', inner);
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      await schedule('behind', its);
    });
    expect([await found('outer'), await found('inner')]).toEqual([true, false]);
  });
});
