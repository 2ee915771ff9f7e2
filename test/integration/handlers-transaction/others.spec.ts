import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Pool, PoolClient } from 'pg';
import { DataSource, type EntityManager, type EntitySubscriberInterface } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { ActingNode } from '../../support/acting-node.js';
import { attemptPoolOf } from '../../support/attempt-sessions.js';
import { type DelayNode, fencedHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { EFFECT_TABLE, INSERT } from './ways.js';

/** What a handler may not do with its transaction, others may: the application, its pool, its subscribers. */
const acting = new ActingNode();

beforeAll(() => acting.sql(EFFECT_TABLE));

afterEach(() => acting.sql('TRUNCATE effect'));

const ONCE = { maxAttempts: 1 };

const effects = async (): Promise<number[]> =>
  (await acting.sql<{ n: number }>('SELECT n FROM effect ORDER BY n')).map(({ n }) => n);

const subscribed = (subscriber: EntitySubscriberInterface): void =>
  void acting.dataSource.subscribers.push(subscriber);

const NOTHING = (): Promise<unknown> => Promise.resolve();

const poolOf = (dataSource: DataSource): Pool =>
  (dataSource.driver as unknown as { master: Pool }).master;

describe('a subscriber of the application', () => {
  afterEach(() => void acting.dataSource.subscribers.pop());

  it('may have a transaction of its own inside that of an attempt, when it is committed', async () => {
    subscribed({
      beforeTransactionCommit: ({ manager, queryRunner }) => {
        if (!queryRunner.manager.queryRunner?.isTransactionActive) return undefined;
        return nested(manager);
      },
    });
    const once = new WeakSet<object>();
    const nested = async (manager: EntityManager): Promise<void> => {
      // The savepoint's end is told of as well.
      if (once.has(manager)) return;
      once.add(manager);
      await manager.transaction((inner) => inner.query(INSERT, [2]));
    };
    const { end } = await acting.fire(
      'transactional',
      ({ manager }) => manager!.query(INSERT, [1]),
      ONCE,
    );
    expect(end).toMatchObject({ event: 'completed' });
    expect(await effects()).toEqual([1, 2]);
  });

  it.each<[string, (manager: EntityManager) => Promise<unknown>]>([
    ['by TypeORM', (manager) => manager.transaction((its) => its.query(INSERT, [9]))],
    [
      'in plain SQL',
      async (manager) => {
        await manager.query('BEGIN');
        await manager.query(INSERT, [9]);
        await manager.query('COMMIT');
      },
    ],
  ])('may have one behind the end of an attempt, %s', async (_, log) => {
    let isLogging = false;
    const once = async (manager: EntityManager): Promise<void> => {
      if (isLogging) return;
      isLogging = true;
      await log(manager);
      isLogging = false;
    };
    subscribed({
      afterTransactionCommit: ({ manager }) => once(manager),
      afterTransactionRollback: ({ manager }) => once(manager),
    });
    const failed = await acting.fire('transactional', async ({ manager }, { attempt }) => {
      await manager!.query(INSERT, [attempt]);
      if (attempt === 1) throw new Error('its first attempt fails');
    });
    expect(failed.end).toMatchObject({ event: 'retrying' });
    await until(
      () => acting.ends.map(({ event }) => event),
      (events) => events.includes('completed'),
    );
    expect(acting.ends).toMatchObject([{ event: 'retrying' }, { event: 'completed', attempt: 2 }]);
    expect(await effects()).toEqual([2, 9, 9]);
  });

  it('leaves nothing open to whoever has the connection next', async () => {
    subscribed({
      afterTransactionCommit: ({ queryRunner }) =>
        // Behind the end, with nothing of TypeORM's around it.
        queryRunner.query('BEGIN').then(() => {}),
    });
    const { end } = await acting.fire(
      'transactional',
      ({ manager }) => manager!.query(INSERT, [1]),
      ONCE,
    );
    expect(end).toMatchObject({ event: 'completed' });
    await acting.until(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
      (rows) => rows.length === 0,
    );
  });

  it('that writes at each statement of a handler is a part of the attempt', async () => {
    let isOwn = false;
    subscribed({
      afterQuery: async ({ query, manager }) => {
        if (isOwn || !query.startsWith('INSERT INTO effect')) return;
        isOwn = true;
        await manager.query(INSERT, [7]);
        isOwn = false;
      },
    });
    const { end } = await acting.fire(
      'transactional',
      ({ manager }) => manager!.query(INSERT, [1]),
      ONCE,
    );
    expect(end).toMatchObject({ event: 'completed' });
    expect(await effects()).toEqual([1, 7]);
  });
});

describe('while a handler runs', () => {
  const POOL = 3;
  let began = signal<EntityManager>();
  let goOn = signal();
  let runs = 0;
  let inHandler = NOTHING;
  let node: DelayNode;
  const refused: unknown[] = [];

  const handler = fencedHandler(
    'test.fenced',
    async ({ attempt }, { manager }) => {
      runs += 1;
      await manager.query(INSERT, [attempt]);
      if (runs > 1) return;
      began.resolve(manager);
      await inHandler();
      await goOn.promise;
      await manager.query(INSERT, [100]).catch((error: unknown) => refused.push(error));
    },
    { maxAttempts: 1 },
  );

  async function running(): Promise<EntityManager> {
    [began, goOn, runs, refused.length] = [signal(), signal(), 0, 0];
    const { url } = acting.dataSource.options as PostgresDataSourceOptions;
    node = await acting.start({ providers: [handler], database: { url, extra: { max: POOL } } });
    await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
    return began.promise;
  }

  afterEach(async () => {
    inHandler = NOTHING;
    if (!node.dataSource.isInitialized) await node.dataSource.initialize();
    await node.stop();
  });

  it.each(['by others', 'by the handler itself'])(
    'the DataSource can be destroyed %s: the attempt goes on, and is committed',
    async (by) => {
      if (by === 'by the handler itself') inHandler = () => node.dataSource.destroy();
      await running();
      if (by === 'by others') await node.dataSource.destroy();
      const completed = node.next('completed');
      goOn.resolve();
      expect(await completed).toMatchObject({ key: 'k' });
      expect(refused).toEqual([]);
      expect(await effects()).toEqual([1, 100]);
      expect(runs).toBe(1);
    },
  );

  it('the pool of the application can be ended: the attempt is committed', async () => {
    await running();
    const completed = node.next('completed');
    const ended = poolOf(node.dataSource).end();
    goOn.resolve();
    await completed;
    await ended;
    expect(await effects()).toEqual([1, 100]);
    // TypeORM knows nothing of that.
    Object.assign(node.dataSource, { isInitialized: false });
  });

  it('its session can be ended: the attempt has failed, and its connection leaves the pool', async () => {
    const manager = await running();
    const client = (await manager.queryRunner!.connect()) as PoolClient & { processID: number };
    await acting.sql('SELECT pg_terminate_backend($1)', [client.processID]);
    const dead = node.next('dead');
    goOn.resolve();
    await dead;
    expect(await effects()).toEqual([]);
    const next = await attemptPoolOf(node).connect();
    expect((await next.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
    next.release();
  });
});

describe('the application’s log of statements', () => {
  const HEARS_ONE: EntitySubscriberInterface = { afterTransactionCommit: () => {} };

  it.each([
    ['no subscriber', []],
    ['a subscriber', [HEARS_ONE]],
  ])('has the begin and the end of an attempt, with %s', async (_, subscribers) => {
    const { dataSource } = acting;
    const logged: string[] = [];
    const log = jest
      .spyOn(dataSource.logger, 'logQuery')
      .mockImplementation((sql) => void logged.push(sql));
    dataSource.subscribers.push(...subscribers);
    try {
      await acting.fire('transactional', ({ manager }) => manager!.query(INSERT, [1]), ONCE);
    } finally {
      dataSource.subscribers.splice(dataSource.subscribers.length - subscribers.length);
      log.mockRestore();
    }
    const ofAttempt = logged.filter(
      (sql) => /^START TRANSACTION|^COMMIT$/.test(sql) || sql === INSERT,
    );
    expect(ofAttempt).toEqual([expect.stringMatching(/^START TRANSACTION/), INSERT, 'COMMIT']);
  });
});
