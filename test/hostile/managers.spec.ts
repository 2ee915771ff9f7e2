import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayInvalidError } from 'nestjs-delay-queue';
import { DataSource, EntityManager, QueryFailedError } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, startNode } from '../support/delay-node.js';

/** A manager is where a write goes. A wrong one must not send it somewhere else. */
let database: TestDatabase;
let other: TestDatabase;
let node: DelayNode;
let elsewhere: DataSource;

beforeAll(async () => {
  [database, other] = [await createTestDatabase(), await createTestDatabase()];
  node = await startNode({ url: database.url });
  elsewhere = await new DataSource({ type: 'postgres', url: other.url }).initialize();
});

afterEach(async () => {
  await node.dataSource.query('TRUNCATE delay_queue.delay');
});

afterAll(async () => {
  await elsewhere.destroy();
  await node.stop();
  await Promise.all([database.drop(), other.drop()]);
});

const CALLS = {
  schedule: (manager: EntityManager) =>
    node.delays.schedule('test.h', null, { after: '1h', key: 'k', manager }),
  scheduleMany: (manager: EntityManager) =>
    node.delays.scheduleMany([{ name: 'test.h', payload: 1, after: '1h', key: 'k' }], { manager }),
  cancel: (manager: EntityManager) => node.delays.cancel('test.h', 'k', { manager }),
  reschedule: (manager: EntityManager) =>
    node.delays.reschedule('test.h', 'k', { after: 1 }, { manager }),
  find: (manager: EntityManager) => node.delays.find('test.h', 'k', { manager }),
  history: (manager: EntityManager) => node.delays.history('test.h', 'k', { manager }),
  retryDead: (manager: EntityManager) => node.delays.retryDead('test.h', 'k', { manager }),
} satisfies Record<string, (manager: EntityManager) => Promise<unknown>>;

const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'answered',
    (thrown: unknown) => thrown,
  );

const rowsIn = async (source: DataSource): Promise<number> => {
  const [row] = await source.query('SELECT count(*)::int AS rows FROM delay_queue.delay');
  return row.rows;
};

/** Nothing was written, here or there, and the next caller finds the service as it was. */
async function unharmed(): Promise<void> {
  expect([await rowsIn(node.dataSource), await rowsIn(elsewhere)]).toEqual([0, 0]);
  await node.dataSource.transaction((manager) => CALLS.schedule(manager));
  expect(await rowsIn(node.dataSource)).toBe(1);
}

const NO_MANAGERS: [what: string, make: () => unknown][] = [
  ['the manager of another DataSource', () => elsewhere.manager],
  ['another DataSource', () => elsewhere],
  ['the DataSource itself', () => node.dataSource],
  ['null', () => null],
  ['false', () => false],
  ['a text', () => 'manager'],
  ['a number', () => 0],
  ['an empty object', () => ({})],
  ['what only names the DataSource', () => ({ dataSource: node.dataSource })],
  ['a query runner', () => node.dataSource.createQueryRunner()],
  ['a repository', () => ({ manager: node.dataSource.manager, dataSource: node.dataSource })],
];

describe.each(NO_MANAGERS)('%s as a manager', (_what, make) => {
  it.each(Object.entries(CALLS))('is refused by %s', async (_call, call) => {
    const error = await errorOf(call(make() as EntityManager));
    expect(error).toBeInstanceOf(DelayInvalidError);
    expect(error).toMatchObject({ field: 'manager' });
    expect(String(error)).toMatch(/of a QueryRunner its manager|belongs to another DataSource/);
    await unharmed();
  });
});

describe.each(Object.entries(CALLS))('%s', (name, call) => {
  it('fails in a transaction that has ended, and writes nothing beside it', async () => {
    let ended: EntityManager | undefined;
    await node.dataSource.transaction(async (manager) => void (ended = manager));
    expect(await errorOf(call(ended!))).toBeInstanceOf(Error);
    await unharmed();
  });

  it('fails on a released query runner', async () => {
    const runner = node.dataSource.createQueryRunner();
    await runner.connect();
    await runner.release();
    expect(await errorOf(call(runner.manager))).toBeInstanceOf(Error);
    await unharmed();
  });

  it('fails with what Postgres says in a transaction that has failed before', async () => {
    const runner = node.dataSource.createQueryRunner();
    await runner.startTransaction();
    await errorOf(runner.query('SELECT 1 / 0'));
    const error = await errorOf(call(runner.manager));
    expect(error).toBeInstanceOf(QueryFailedError);
    expect(error).toMatchObject({ code: '25P02' });
    // TypeORM rolls all of it back when a savepoint fails.
    if (runner.isTransactionActive) await runner.rollbackTransaction();
    await runner.release();
    await unharmed();
  });

  it('fails in a read-only transaction only if it writes', async () => {
    await node.dataSource
      .query(`INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
      VALUES ('test.h', 'k', '1', 'now', 'now', 'now')`);
    const runner = node.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SET TRANSACTION READ ONLY');
    const error = await errorOf(call(runner.manager));
    const onlyReads = ['find', 'history'].includes(name);
    expect(error instanceof QueryFailedError ? error.driverError.code : 'answered').toBe(
      onlyReads ? 'answered' : '25006',
    );
    await runner.rollbackTransaction();
    await runner.release();
    expect(await node.delays.find('test.h', 'k')).toMatchObject({ payload: 1, attempts: 0 });
  });
});

it('a caller who is rolled back by the server in the middle leaves nothing', async () => {
  const dying = node.dataSource.transaction(async (manager) => {
    await CALLS.schedule(manager);
    await errorOf(manager.query('SELECT pg_terminate_backend(pg_backend_pid())'));
    await CALLS.scheduleMany(manager);
  });
  expect(await errorOf(dying)).toBeInstanceOf(Error);
  await unharmed();
});
