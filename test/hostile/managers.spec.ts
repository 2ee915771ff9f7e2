import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayInvalidError, type DelayService } from 'nestjs-delay-queue';
import { DataSource, EntityManager, type QueryRunner } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { OneNode } from '../support/one-node.js';

// oxlint-disable jest/expect-expect -- `refuses` expects

/** A manager is where a write goes. A wrong one must not send it somewhere else. */
const node = new OneNode();
let other: TestDatabase;
let elsewhere: DataSource;

beforeAll(async () => {
  other = await createTestDatabase();
  elsewhere = await new DataSource({ type: 'postgres', url: other.url }).initialize();
});

afterAll(async () => {
  await elsewhere.destroy();
  await other.drop();
});

type Call = (delays: DelayService, manager: EntityManager) => Promise<unknown>;

const CALLS: Record<string, Call> = {
  schedule: (delays, manager) =>
    delays.schedule('test.h', null, { after: '1h', key: 'k', manager }),
  scheduleMany: (delays, manager) =>
    delays.scheduleMany([{ name: 'test.h', payload: 1, after: '1h', key: 'k' }], { manager }),
  cancel: (delays, manager) => delays.cancel('test.h', 'k', { manager }),
  reschedule: (delays, manager) => delays.reschedule('test.h', 'k', { after: 1 }, { manager }),
  find: (delays, manager) => delays.find('test.h', 'k', { manager }),
  history: (delays, manager) => delays.history('test.h', 'k', { manager }),
  retryDead: (delays, manager) => delays.retryDead('test.h', 'k', { manager }),
};

const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'answered',
    (thrown: unknown) => thrown,
  );

const rowsIn = async (source: DataSource): Promise<number> => {
  const [row] = await source.query('SELECT count(*)::int AS rows FROM delay_queue.delay');
  return row.rows;
};

/** Nothing was written, here or there. */
const nothingWritten = async (): Promise<void> =>
  expect([await rowsIn(node.dataSource), await rowsIn(elsewhere)]).toEqual([0, 0]);

const NO_MANAGERS: Record<string, () => unknown> = {
  'the manager of another DataSource': () => elsewhere.manager,
  'another DataSource': () => elsewhere,
  'the DataSource itself': () => node.dataSource,
  null: () => null,
  'a text': () => 'manager',
  'what only names the DataSource': () => ({ dataSource: node.dataSource }),
  'a query runner': () => node.dataSource.createQueryRunner(),
};

async function refuses(call: Call, manager: unknown): Promise<void> {
  const error = await errorOf(call(node.delays, manager as EntityManager));
  expect(error).toBeInstanceOf(DelayInvalidError);
  expect(error).toMatchObject({ field: 'manager' });
  expect(String(error)).toMatch(/for a QueryRunner, its manager|belongs to another DataSource/);
  await nothingWritten();
}

it.each(Object.keys(NO_MANAGERS))('%s is refused as a manager', (what) =>
  refuses(CALLS['schedule']!, NO_MANAGERS[what]!()),
);

async function withRunner(work: (runner: QueryRunner) => Promise<void>): Promise<void> {
  const runner = node.dataSource.createQueryRunner();
  await runner.connect();
  try {
    await work(runner);
    // TypeORM rolls all of it back when a savepoint fails.
    if (runner.isTransactionActive) await runner.rollbackTransaction();
  } finally {
    await runner.release();
  }
}

describe.each(Object.entries(CALLS))('%s', (name, call) => {
  it('refuses what is no manager of its DataSource', () => refuses(call, elsewhere.manager));

  it('fails once its transaction has ended, and writes nothing beside it', async () => {
    let ended: EntityManager | undefined;
    await node.dataSource.transaction(async (manager) => void (ended = manager));
    expect(await errorOf(call(node.delays, ended!))).toBeInstanceOf(Error);
    await nothingWritten();
  });

  it('fails with what Postgres says in a transaction that has failed before', async () => {
    await withRunner(async (runner) => {
      await runner.startTransaction();
      await errorOf(runner.query('SELECT 1 / 0'));
      expect(await errorOf(call(node.delays, runner.manager))).toMatchObject({ code: '25P02' });
    });
    await nothingWritten();
  });

  it('fails in a read-only transaction only if it writes', async () => {
    await node.delays.schedule('test.h', 1, { after: '1h', key: 'k' });
    await withRunner(async (runner) => {
      await runner.startTransaction();
      await runner.query('SET TRANSACTION READ ONLY');
      const error = await errorOf(call(node.delays, runner.manager));
      const reads = ['find', 'history'].includes(name);
      expect(reads ? error : (error as { code?: string }).code).toBe(reads ? 'answered' : '25006');
    });
    expect(await node.delays.find('test.h', 'k')).toMatchObject({ payload: 1, attempts: 0 });
  });
});

it('a caller who is rolled back by the server in the middle leaves nothing', async () => {
  const dying = node.dataSource.transaction(async (manager) => {
    await CALLS['schedule']!(node.delays, manager);
    await errorOf(manager.query('SELECT pg_terminate_backend(pg_backend_pid())'));
    await CALLS['scheduleMany']!(node.delays, manager);
  });
  expect(await errorOf(dying)).toBeInstanceOf(Error);
  await nothingWritten();
});
