import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayInvalidError } from 'nestjs-delay-queue';
import { Query, type PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import { ActingNode, type AttemptEnd } from '../../support/acting-node.js';
import { attemptPoolOf, sessionBehind } from '../../support/attempt-sessions.js';
import { EFFECT_TABLE, INSERT, OpenCursor } from './ways.js';

/** A handler that takes the transaction into its own hands: effects happen once all the same. */
const acting = new ActingNode();

beforeAll(() => acting.sql(EFFECT_TABLE));

afterEach(() => acting.sql('TRUNCATE effect'));

/** How the only attempt of a delay ends, whose handler does that. */
async function endOf(handle: (manager: EntityManager) => Promise<unknown>): Promise<AttemptEnd> {
  const act = ({ manager }: { manager?: EntityManager }) => handle(manager!);
  return (await acting.fire('transactional', act, { maxAttempts: 1 })).end;
}

const effects = (): Promise<{ n: number }[]> => acting.sql('SELECT n FROM effect ORDER BY n');

const ENDS = [
  'COMMIT',
  'END',
  'ROLLBACK',
  'ABORT',
  `PREPARE TRANSACTION 'x'`,
  '/* at last */ COMMIT AND CHAIN',
  'INSERT INTO effect (n) VALUES (2); COMMIT; BEGIN',
  '\n rollback WORK and CHAIN',
  "SELECT 1 /* a /* b */ ' */; COMMIT; -- '",
  'SELECT 1 AS a$$; COMMIT; SELECT 1 AS a$$',
];

const clientOf = async (manager: EntityManager): Promise<PoolClient> =>
  (await manager.queryRunner!.connect()) as PoolClient;

const ended = (query: Query | OpenCursor): Promise<unknown> =>
  new Promise((resolve, reject) => query.once('end', resolve).once('error', reject));

/** One that shows no text, as an application may write one. */
class Speaks extends OpenCursor {
  constructor(sql: string) {
    super(sql);
    Object.defineProperty(this, 'sql', { value: sql });
    Reflect.deleteProperty(this, 'text');
  }

  override submit(connection: unknown): void {
    (connection as { query: (sql: unknown) => void }).query(Reflect.get(this, 'sql'));
  }
}

const DOORS: Record<string, (manager: EntityManager, sql: string) => Promise<unknown>> = {
  'its manager': (manager, sql) => manager.query(sql),
  'the client': async (manager, sql) => (await clientOf(manager)).query({ text: sql }),
  'the client, with a query of its own': async (manager, sql) =>
    ended((await clientOf(manager)).query(new Query(sql))),
  'the client, with one that shows no text': async (manager, sql) =>
    ended((await clientOf(manager)).query(new Speaks(sql) as never)),
  'the client, with a text that is changed while it waits': async (manager, sql) => {
    const client = await clientOf(manager);
    const slow = client.query('SELECT pg_sleep(0.01)');
    const statement = { text: 'SELECT 1' };
    const answer = client.query(statement);
    statement.text = sql;
    await Promise.all([slow, answer]);
  },
};

it.each(Object.entries(DOORS))(
  'through %s an end of the transaction is refused: the attempt goes on where its handler swallows that, else it fails as a whole',
  async (_door, send) => {
    const errors: unknown[] = [];
    const goesOn = await endOf(async (manager) => {
      await manager.query(INSERT, [1]);
      for (const sql of ENDS) {
        await send(manager, sql).catch((error: unknown) => errors.push(error));
      }
    });
    expect(goesOn.event).toBe('completed');
    expect(errors).toEqual(ENDS.map(() => expect.any(DelayInvalidError)));
    expect(await effects()).toEqual([{ n: 1 }]);

    const fails = await endOf(async (manager) => {
      await manager.query(INSERT, [2]);
      await send(manager, '/* at last */ COMMIT');
    });
    expect(fails).toMatchObject({
      event: 'dead',
      error: expect.stringMatching(/^DelayInvalidError: manager: [A-Z ]+ was not sent/),
    });
    expect(await effects()).toEqual([{ n: 1 }]);
  },
);

it('a statement that its session knows by a name is no way to end the transaction', async () => {
  const prepared = { name: 'ends', text: 'COMMIT' };
  // The next attempt runs on the session that was released last.
  const session = await attemptPoolOf(acting).connect();
  await session.query(prepared);
  session.release();
  const ending = await endOf(async (manager) => {
    await manager.query(INSERT, [1]);
    const client = (await clientOf(manager)) as unknown as { query(by: object): Promise<unknown> };
    await client.query({ name: 'ends' });
  });
  expect(ending).toMatchObject({ event: 'dead', error: expect.stringMatching(/was not sent/) });
  expect(await effects()).toEqual([]);
});

it('a statement that its session knows by a name does not hide the end of the transaction', async () => {
  const session = await attemptPoolOf(acting).connect();
  await session.query('BEGIN');
  await session.query({ name: 'chains', text: 'ROLLBACK AND CHAIN' });
  await session.query('ROLLBACK');
  session.release();
  const ending = await endOf(async (manager) => {
    await manager.query(INSERT, [1]);
    await (sessionBehind(manager).query({
      name: 'chains',
    } as never) as unknown as Promise<unknown>);
    await manager.query(INSERT, [2]);
  });
  expect(ending).toMatchObject({ event: 'dead', error: expect.stringMatching(/was ended while/) });
  expect(await effects()).toEqual([]);
});

interface Postpones {
  postpone: (delay: unknown, after: string) => void;
}

describe.each(['returns', 'has nothing removed'])('where its handler %s', (how) => {
  it.each([
    'ROLLBACK',
    'COMMIT AND CHAIN',
    'COMMIT; BEGIN',
    'ROLLBACK AND CHAIN',
    'ROLLBACK; BEGIN',
    'COMMIT AND CHAIN; SAVEPOINT s; ROLLBACK TO s',
  ])(
    'a transaction that %s has ended all the same is not committed with its delay',
    async (sql) => {
      const kind = how === 'returns' ? 'transactional' : 'transactional batch';
      const { end } = await acting.fire(
        kind,
        async (ctx, delay) => {
          await ctx.manager!.query(INSERT, [1]);
          await sessionBehind(ctx.manager!).query(sql);
          await ctx.manager!.query(INSERT, [2]).catch(() => {});
          if (kind !== 'transactional') (ctx as never as Postpones).postpone(delay, '1h');
        },
        { maxAttempts: 1 },
      );
      expect(end).toMatchObject({
        event: 'dead',
        error: expect.stringMatching(/the transaction was ended while the handler ran/),
      });
      // What was committed by then nobody can take back.
      expect(await effects()).toEqual(sql.startsWith('COMMIT') ? [{ n: 1 }] : []);
    },
  );
});

it.each([
  ['a savepoint', 'SAVEPOINT s; INSERT INTO effect (n) VALUES (2); ROLLBACK TO s', 'completed'],
  ['BEGIN within it', 'BEGIN; SAVEPOINT s; ROLLBACK TO s; BEGIN', 'completed'],
  ['COMMIT in a DO block', 'DO $$ BEGIN COMMIT; END $$', 'dead'],
  ['COMMIT in a procedure', 'CALL commits()', 'dead'],
])('%s is what it is to Postgres, and its attempt ends like that', async (_, sql, event) => {
  await acting.sql(
    'CREATE OR REPLACE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$',
  );
  const ending = await endOf(async (manager) => {
    await manager.query(INSERT, [1]);
    await manager.query(sql);
  });
  expect(ending.event).toBe(event);
  expect(await effects()).toEqual(event === 'completed' ? [{ n: 1 }] : []);
});

it('the connection of a handler is not its to end', async () => {
  const errors: unknown[] = [];
  const ending = await endOf(async (manager) => {
    const client = (await manager.queryRunner!.connect()) as PoolClient;
    for (const act of ['end', 'release', 'connect'] as const) {
      try {
        await (client as unknown as Record<typeof act, () => Promise<void>>)[act]();
      } catch (error) {
        errors.push(error);
      }
    }
    await manager.queryRunner!.release().catch((error: unknown) => errors.push(error));
    await manager.query(INSERT, [1]);
  });
  expect(ending.event).toBe('completed');
  expect(errors).toEqual(Array.from({ length: 4 }, () => expect.any(DelayInvalidError)));
  expect(await effects()).toEqual([{ n: 1 }]);
});

it.each(['commitTransaction', 'rollbackTransaction'] as const)(
  'a handler may %s as often as it has begun one, and not that of its attempt',
  async (way) => {
    const refused: unknown[] = [];
    const end = await endOf(async (manager) => {
      const runner = manager.queryRunner!;
      await manager.query(INSERT, [1]);
      for (let times = 0; times < 2; times += 1) {
        await runner.startTransaction();
        await runner.startTransaction();
        await runner[way]();
        await runner[way]();
        await runner[way]().catch((error: unknown) => refused.push(error));
      }
    });
    const refusal = { code: 'DELAY_INVALID', field: 'manager' };
    expect(refused).toMatchObject([refusal, refusal]);
    expect(end.event).toBe('completed');
    expect(await effects()).toEqual([{ n: 1 }]);
  },
);

it('a query of the application’s own is as it was, once it is over', async () => {
  let isAsItWas = false;
  await endOf(async (manager) => {
    const query = new Query('SELECT 1') as Query & { handleError: () => void };
    const handle = query.handleError.bind(query);
    Object.defineProperty(query, 'handleError', { configurable: true, value: handle });
    await ended((await clientOf(manager)).query(query));
    isAsItWas = query.handleError === handle && !Object.hasOwn(query, 'handleReadyForQuery');
  });
  expect(isAsItWas).toBe(true);
});
