import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Pool, PoolClient } from 'pg';
import { DataSource, type EntityManager, type EntitySubscriberInterface } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { ActingNode } from '../../support/acting-node.js';
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
    'the DataSource can be destroyed %s: the attempt is given back, and does its work once',
    async (by) => {
      let destroyed: Promise<void> | undefined;
      inHandler = async () => {
        if (by === 'by others') return;
        destroyed = node.dataSource.destroy();
        await destroyed;
      };
      await running();
      destroyed ??= node.dataSource.destroy();
      await destroyed;
      expect(await effects()).toEqual([]);
      const completed = node.next('completed');
      goOn.resolve();
      await node.dataSource.initialize();
      expect(await completed).toMatchObject({ key: 'k' });
      expect(refused).toMatchObject([{ code: 'DELAY_TRANSACTION_OVER' }]);
      expect(await effects()).toEqual([1]);
      expect(runs).toBe(2);
    },
  );

  it('its DataSource can be destroyed during a statement of the handler', async () => {
    inHandler = () => began.promise.then((manager) => manager.query('SELECT pg_sleep(600)'));
    await running();
    await acting.until(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(600)'`,
      (rows) => rows.length === 1,
    );
    await node.dataSource.destroy();
    const completed = node.next('completed');
    await node.dataSource.initialize();
    expect(await completed).toMatchObject({ key: 'k' });
    expect(await effects()).toEqual([1]);
  });

  it('its pool can be ended: that waits for the attempt, which is committed', async () => {
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
    const all = Array.from({ length: POOL }, () => node.dataSource.query('SELECT 1 AS n'));
    expect(await Promise.all(all)).toEqual(all.map(() => [{ n: 1 }]));
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
    const ofAttempt = ['START TRANSACTION', INSERT, 'COMMIT'];
    expect(logged.filter((sql) => ofAttempt.includes(sql))).toEqual(ofAttempt);
  });
});
