import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, type PoolClient, Query, type QueryResult } from 'pg';
import type { EntityManager } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { ActingNode } from '../../support/acting-node.js';
import { signal } from '../../support/delay-node.js';
import { Parts } from '../../support/parts.js';
import { INSERT } from './ways.js';
import { BeginAhead, EngineConnections } from '../../support/engine-parts.js';

/** The first statement of a handler takes along what begins its transaction, and its handler does not see that. */
const parts = new Parts();
const own = signal();
// Until then BEGIN goes alone.
parts.intercept(EngineConnections, 'prepareStatements', ({ real }) => {
  real();
  own.resolve();
});
const acting = new ActingNode({ parts, poolMax: 1 });

beforeAll(async () => {
  await acting.sql('CREATE TABLE effect (n int UNIQUE)');
  await own.promise;
});

afterEach(() => acting.sql('TRUNCATE effect'));

type Answer = Pick<QueryResult, 'command' | 'rowCount' | 'rows'>;

const clientOf = async (manager: EntityManager): Promise<PoolClient> =>
  (await manager.queryRunner!.connect()) as PoolClient;

const told = (answer: Answer | Answer[]): unknown =>
  Array.isArray(answer)
    ? answer.map((each) => told(each))
    : { command: answer.command, rowCount: answer.rowCount, rows: answer.rows };

/** A statement in a form that `pg` takes, through its client. */
const asked =
  (...all: unknown[]) =>
  async (manager: EntityManager): Promise<unknown> => {
    const client = (await clientOf(manager)) as unknown as {
      query(...all: unknown[]): Promise<Answer>;
    };
    return told(await client.query(...all));
  };

const ROWS = 'SELECT n, n::text AS text FROM generate_series(1, $1::int) AS n';

const FIRST: Record<string, (manager: EntityManager) => Promise<unknown>> = {
  'of a manager': (manager) => manager.query('SELECT 1 AS n'),
  'of a manager, that writes': (manager) => manager.query(`${INSERT} RETURNING n`, [1]),
  'a text': asked('SELECT 1 AS n'),
  'an empty text': asked(''),
  'a text of two statements': asked('SELECT 1 AS n; SELECT 2 AS m'),
  'a text that answers no rows': asked('SET LOCAL work_mem = 1024'),
  'with values': asked(ROWS, [3]),
  'with rows as arrays': asked({ text: ROWS, values: [2], rowMode: 'array' }),
  'that fetches its rows by twos': asked({ text: ROWS, values: [5], rows: 2 }),
  'with a name': asked({ name: 'rows', text: ROWS, values: [2] }),
  'with that name again': asked({ name: 'rows', text: ROWS, values: [1] }),
  'with a callback': async (manager) => {
    const client = await clientOf(manager);
    return new Promise((resolve, reject) => {
      client.query(ROWS, [2], (error, answer) => (error ? reject(error) : resolve(told(answer))));
    });
  },
  'a query of its own': async (manager) => {
    const rows: unknown[] = [];
    const query = (await clientOf(manager)).query(new Query(ROWS, [2]));
    query.on('row', (row) => rows.push(row));
    await new Promise((resolve, reject) => query.once('end', resolve).once('error', reject));
    return rows;
  },
  'that the server refuses': asked('SELECT 1 / 0'),
  'that the server cannot parse': asked('SELEC 1'),
  'with a name, that the server cannot parse': asked({
    name: 'not there',
    text: 'SELECT FROM not_there',
  }),
  'with a value that cannot be sent': asked('SELECT $1', [
    {
      toPostgres: () => {
        throw new Error('no value');
      },
    },
  ]),
  'without a text': asked({}),
  'with values that are no list': asked('SELECT $1', 'one'),
};

/** What a handler sees of it, as its first statement or as a later one; its attempt fails. */
async function seenBy(
  ask: (manager: EntityManager) => Promise<unknown>,
  isFirst: boolean,
): Promise<unknown> {
  const { answer } = await acting.fire(
    'transactional',
    async ({ manager }) => {
      if (!isFirst) await manager!.query('SELECT 0');
      return await ask(manager!).catch((error: Error) => `${error.name}: ${error.message}`);
    },
    { maxAttempts: 1 },
  );
  await acting.truncate('delay');
  await acting.sql('TRUNCATE effect');
  return answer;
}

describe('the first statement of a handler', () => {
  it.each(Object.entries(FIRST))('%s, answers as any other', async (_, ask) => {
    const first = await seenBy(ask, true);
    expect(first).toBeDefined();
    expect(first).toEqual(await seenBy(ask, false));
    expect(first).toEqual(await seenBy(ask, true));
  });

  it('leaves nothing when the handler fails', async () => {
    await acting.fire(
      'transactional',
      async ({ manager }) => {
        await manager!.query(INSERT, [1]);
        throw new Error('after its first statement');
      },
      { maxAttempts: 1 },
    );
    expect(await acting.sql('SELECT n FROM effect')).toEqual([]);
  });

  it.each([
    ['with values', INSERT, [1]],
    ['a text', 'INSERT INTO effect VALUES (1)', undefined],
  ])('is not run, %s, where its transaction cannot begin', async (_, text, values) => {
    const { url } = acting.dataSource.options as PostgresDataSourceOptions;
    const client = new Client({ connectionString: url });
    await client.connect();
    const begin = BeginAhead.on(client);
    begin.with(['START TRANSACTION', 'SET LOCAL no_such_setting = 1']);
    await expect(client.query(text, values)).rejects.toThrow(/no_such_setting/);
    expect([begin.isWaiting, begin.hasFailed]).toEqual([false, true]);
    // What is left on the session is as if nothing had been sent.
    await client.query('ROLLBACK');
    begin.with(['START TRANSACTION']);
    expect((await client.query(text, values)).rowCount).toBe(1);
    expect(begin.hasFailed).toBe(false);
    await client.end();
    expect(await acting.sql('SELECT n FROM effect')).toEqual([]);
  });

  it('of which `pg` sends nothing leaves its transaction to the next one', async () => {
    const { end } = await acting.fire('transactional', async ({ manager }) => {
      const client = await clientOf(manager!);
      await expect(client.query({} as never)).rejects.toThrow(/text or a name/);
      await client.query(INSERT, [1]);
      throw new Error('after both');
    });
    expect(end).toMatchObject({ event: 'retrying', attempt: 1 });
    expect(await acting.sql('SELECT n FROM effect')).toEqual([]);
  });
});
