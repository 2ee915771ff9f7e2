import { afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Delay, TransactionalDelayBatchContext } from 'nestjs-delay-queue';
import type { EntitySubscriberInterface } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { type ActingContext, ActingNode, NAMES } from '../../support/acting-node.js';
import { attemptPoolOf } from '../../support/attempt-sessions.js';
import { type DelayNode, fencedHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { INSERT } from './ways.js';

/** What of a transactional handler's work stands, and what does not. */
const ONCE = { maxAttempts: 1 };
const AFTER = { after: '1h', key: 'next' } as const;

const acting = new ActingNode();

beforeAll(() =>
  acting.sql(
    `CREATE TABLE effect (n int UNIQUE);
     CREATE TABLE child (n int REFERENCES effect (n) DEFERRABLE INITIALLY DEFERRED)`,
  ),
);

afterEach(() => acting.sql('TRUNCATE effect, child'));

const effects = (): Promise<{ n: number }[]> => acting.sql('SELECT n FROM effect ORDER BY n');

const next = (manager?: ActingContext['manager']) =>
  acting.delays.find('test.a', AFTER.key, { manager });

/** Writes a row of the application's, and a delay. */
async function writes({ manager }: ActingContext): Promise<void> {
  await manager!.query(INSERT, [1]);
  await acting.delays.schedule('test.a', { n: 1 }, { ...AFTER, manager });
}

it('what a handler schedules rides on its transaction: it is seen after the commit', async () => {
  const { end, answer } = await acting.fire('transactional', async (ctx) => {
    await writes(ctx);
    return [await next(), (await next(ctx.manager))?.state, await effects()];
  });
  expect(end.event).toBe('completed');
  expect(answer).toEqual([null, 'scheduled', []]);
  expect(await next()).toMatchObject({ payload: { n: 1 } });
  expect(await effects()).toEqual([{ n: 1 }]);
});

it.each<[what: string, error: RegExp, fails: (ctx: ActingContext) => Promise<unknown>]>([
  [
    'throws after writing',
    /^Error: after the writes$/,
    () => Promise.reject(Error('after the writes')),
  ],
  [
    'swallows an SQL error',
    /^DelayRolledBackError: the transaction was rolled back/,
    ({ manager }) => manager!.query(INSERT, [1]).catch(() => {}),
  ],
  [
    'breaks a constraint that is checked at COMMIT',
    /violates foreign key constraint/,
    ({ manager }) => manager!.query('INSERT INTO child VALUES (5)'),
  ],
])('a handler that %s leaves nothing of what it wrote', async (_, error, fails) => {
  const { end } = await acting.fire(
    'transactional',
    async (ctx) => {
      await writes(ctx);
      const item = { name: 'test.z', payload: 1, after: 0 } as const;
      await acting.delays.scheduleMany([item], { manager: ctx.manager });
      await fails(ctx);
    },
    ONCE,
  );
  expect(end).toMatchObject({ event: 'dead', error: expect.stringMatching(error) });
  expect(await effects()).toEqual([]);
  const rows = await acting.sql('SELECT name FROM delay_queue.delay');
  expect(rows).toEqual([{ name: NAMES.transactional }]);
});

it('a batch handler that postpones all and swallows an SQL error hears of it, though nothing is removed', async () => {
  const { end } = await acting.fire(
    'transactional batch',
    async (ctx, delay) => {
      await ctx.manager!.query(INSERT, [1]);
      await ctx.manager!.query(INSERT, [1]).catch(() => {});
      (ctx as TransactionalDelayBatchContext).postpone(delay as Delay, '1h');
    },
    ONCE,
  );
  const error = expect.stringMatching(/^DelayRolledBackError/);
  expect(end).toMatchObject({ event: 'dead', error });
  expect(await effects()).toEqual([]);
});

it('a handler that swallows an SQL error of a savepoint goes on and commits', async () => {
  const { end } = await acting.fire('transactional', async ({ manager }) => {
    await manager!.query(INSERT, [1]);
    await manager!.transaction((inner) => inner.query(INSERT, [1])).catch(() => {});
  });
  expect(end.event).toBe('completed');
  expect(await effects()).toEqual([{ n: 1 }]);
});

/** After TypeORM has made its savepoint, and counts it. */
it.each(['lets it through', 'swallows it'])(
  'a subscriber that throws when a savepoint begins: the handler %s, and nothing stays open',
  async (how) => {
    let throws = 0;
    const subscriber: EntitySubscriberInterface = {
      afterTransactionStart: ({ queryRunner }) => {
        if (Reflect.get(queryRunner, 'transactionDepth') === 1) return;
        throws += 1;
        throw new Error('no settings');
      },
    };
    acting.dataSource.subscribers.push(subscriber);
    const { end } = await acting.fire(
      'transactional',
      async ({ manager }) => {
        await manager!.query(INSERT, [1]);
        const inner = manager!.transaction((nested) => nested.query(INSERT, [2]));
        await (how === 'swallows it' ? inner.catch(() => {}) : inner);
      },
      ONCE,
    );
    acting.dataSource.subscribers.pop();
    expect(throws).toBe(1);
    const isDone = how === 'swallows it';
    expect(end.event).toBe(isDone ? 'completed' : 'dead');
    expect(await effects()).toEqual(isDone ? [{ n: 1 }] : []);
    expect(
      await acting.sql(
        `SELECT query FROM pg_stat_activity
         WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
      ),
    ).toEqual([]);
  },
);

/** A COMMIT has worked when the server says COMMIT. */
it('what a subscriber of the application writes at COMMIT is part of it; where it breaks the transaction, its attempt has not completed, and the next one does it once', async () => {
  let commits = 0;
  const told: string[] = [];
  const subscriber: EntitySubscriberInterface = {
    beforeTransactionCommit: async ({ queryRunner }) => {
      commits += 1;
      await queryRunner.query(INSERT, [2]);
      await queryRunner.manager.query(INSERT, [3]);
      if (commits === 1) await queryRunner.query('SELECT 1 / 0').catch(() => {});
    },
    afterTransactionCommit: () => void told.push('committed'),
    afterTransactionRollback: () => void told.push('rolled back'),
  };
  acting.dataSource.subscribers.push(subscriber);
  const { end } = await acting.fire('transactional', writes);
  expect(end).toMatchObject({
    event: 'retrying',
    error: expect.stringMatching(/^DelayRolledBackError: the transaction was rolled back/),
  });
  await until(
    () => acting.ends.map(({ event }) => event),
    (events) => events.includes('completed'),
  );
  acting.dataSource.subscribers.pop();
  expect(acting.ends).toMatchObject([{ attempt: 1 }, { event: 'completed', attempt: 2 }]);
  expect(told).toEqual(['rolled back', 'committed']);
  expect(await effects()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  expect(await next()).not.toBeNull();
});

/** What handlers see as the level of their transaction. */
const levels: unknown[] = [];
const levelled = fencedHandler('test.level', async ({ attempt }, { manager }) => {
  const [row] = await manager.query<[{ level: string }]>(
    `SELECT current_setting('transaction_isolation') AS level`,
  );
  levels.push({ attempt, ...row });
});
const READ_COMMITTED = { attempt: 1, level: 'read committed' };

/** Those in a row run at once, one row after the other. */
async function levelsOf(node: DelayNode, rows: string[][]): Promise<unknown[]> {
  levels.length = 0;
  for (const keys of rows) {
    const completed = keys.map((key) => node.next('completed', (event) => event.key === key));
    const item = { name: 'test.level', payload: null, after: 50 } as const;
    await node.delays.scheduleMany(keys.map((key) => ({ ...item, key })));
    await Promise.all(completed);
  }
  await node.stop();
  return levels;
}

it('the transaction is read committed where the application, or a session, has chosen another level', async () => {
  const { url } = acting.dataSource.options as PostgresDataSourceOptions;
  const database = { url, isolationLevel: 'SERIALIZABLE', extra: { max: 3 } } as const;
  const node = await acting.start({ providers: [levelled], database });
  const session = await attemptPoolOf(node).connect();
  await session.query(`SET default_transaction_isolation = 'serializable'`);
  session.release();
  expect(await levelsOf(node, [['first'], ['later']])).toEqual([READ_COMMITTED, READ_COMMITTED]);
});
