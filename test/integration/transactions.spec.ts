import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DelayInvalidError } from 'nestjs-delay-queue';
import { DataSource, QueryFailedError } from 'typeorm';
import { Engine } from '../../src/delay-queue/runtime/engine.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';
import { OpenTransactions } from '../support/open-transactions.js';
import { makeSweepsRare } from '../support/rare-sweeps.js';

/** Neither a load nor a sweep comes along while a test runs: what fires, fires because it was armed. */
makeSweepsRare();
const ARMED_ONLY = { horizon: '1h', loadEvery: '59m' } as const;

let database: TestDatabase;
let node: DelayNode;
const fired: string[] = [];
const arm = jest.spyOn(Engine.prototype, 'announce');
const transactions = new OpenTransactions();

beforeAll(async () => {
  database = await createTestDatabase();
  const handler = plainHandler('test.armed', ({ key }) => void fired.push(String(key)));
  node = await startNode({ url: database.url, providers: [handler], options: ARMED_ONLY });
});

afterEach(async () => {
  await transactions.rollbackAll();
  arm.mockClear();
  fired.length = 0;
});

afterAll(async () => {
  arm.mockRestore();
  await node.stop();
  await database.drop();
});

const count = async (): Promise<number> =>
  (await node.dataSource.query('SELECT count(*)::int AS rows FROM delay_queue.delay'))[0].rows;

const completion = (key: string) => node.next('completed', (event) => event.key === key);

describe('a delay written in the transaction of the caller', () => {
  it('is armed by the commit, and fires without any load', async () => {
    const transaction = await transactions.begin(node.dataSource);
    const { manager } = transaction;
    await node.delays.schedule('test.armed', null, { after: 0, key: 'one', manager });
    await node.delays.scheduleMany([{ name: 'test.armed', payload: null, after: 0, key: 'many' }], {
      manager,
    });
    expect(arm).not.toHaveBeenCalled();
    const done = Promise.all([completion('one'), completion('many')]);
    await transaction.commit();
    expect(arm).toHaveBeenCalledTimes(2);
    await done;
    expect(fired.toSorted()).toEqual(['many', 'one']);
  });

  it('is armed at once without a transaction, by every write that leaves it waiting', async () => {
    const key = 'every write';
    await node.delays.schedule('test.armed', null, { after: '50m', key });
    await node.delays.schedule('test.armed', null, { after: '40m', key });
    expect(arm).toHaveBeenCalledTimes(2);
    const done = completion(key);
    await node.delays.reschedule('test.armed', key, { after: 0 });
    await done;
    expect(arm).toHaveBeenCalledTimes(3);
  });

  it('leaves nothing behind and arms nothing when it is rolled back', async () => {
    await node.delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'stays' });
    arm.mockClear();
    const before = await count();
    const transaction = await transactions.begin(node.dataSource);
    const { manager } = transaction;
    await node.delays.schedule('test.armed', null, { after: 0, key: 'gone', manager });
    await node.delays.schedule('test.armed', null, { after: 0, manager });
    await node.delays.scheduleMany([{ name: 'test.armed', payload: 1, after: 0 }], { manager });
    await node.delays.reschedule('test.a', 'stays', { after: 0 }, { manager });
    await transaction.rollback();
    expect(await count()).toBe(before);
    expect(arm).not.toHaveBeenCalled();
    const done = completion('after');
    await node.delays.schedule('test.armed', null, { after: 0, key: 'after' });
    await done;
    expect(fired).toEqual(['after']);
  });

  it('is forgotten by the rollback: the next transaction of that query runner arms nothing', async () => {
    const runner = node.dataSource.createQueryRunner();
    await runner.startTransaction();
    const { manager } = runner;
    await node.delays.schedule('test.armed', null, { after: 0, key: 'gone', manager });
    await runner.rollbackTransaction();
    await runner.startTransaction();
    await runner.query('SELECT 1');
    await runner.commitTransaction();
    await runner.release();
    expect(arm).not.toHaveBeenCalled();
  });

  it('is not armed by the release of a savepoint', async () => {
    const transaction = await transactions.begin(node.dataSource);
    await transaction.manager.transaction(async (inner) => {
      await inner.transaction((innermost) =>
        node.delays
          .schedule('test.armed', null, { after: 0, key: 'nested', manager: innermost })
          .then(() => {}),
      );
    });
    expect(arm).not.toHaveBeenCalled();
    const done = completion('nested');
    await transaction.commit();
    await done;
    expect(arm).toHaveBeenCalledTimes(1);
  });

  it('leaves nothing behind when only its savepoint is rolled back', async () => {
    const before = await count();
    await node.dataSource.transaction(async (manager) => {
      await manager
        .transaction(async (inner) => {
          await node.delays.schedule('test.armed', null, { after: 0, key: 's', manager: inner });
          throw new Error('rolled back on purpose');
        })
        .catch(() => {});
    });
    expect(await count()).toBe(before);
    const done = completion('after savepoint');
    await node.delays.schedule('test.armed', null, { after: 0, key: 'after savepoint' });
    await done;
    expect(fired).toEqual(['after savepoint']);
  });

  it('is seen by the transaction itself, and by nobody else before the commit', async () => {
    const transaction = await transactions.begin(node.dataSource);
    const { manager } = transaction;
    const { id } = await node.delays.schedule(
      'test.a',
      { n: 1 },
      { after: '1h', key: 'v', manager },
    );
    expect(await node.delays.find('test.a', 'v', { manager })).toMatchObject({ id });
    expect(await node.delays.find('test.a', 'v')).toBeNull();
    await transaction.commit();
    expect(await node.delays.find('test.a', 'v')).toMatchObject({ id });
  });

  it('keeps its cancelled delay armed in memory only: a cancel that commits stops it', async () => {
    await node.delays.schedule('test.armed', null, { after: 150, key: 'stopped' });
    const transaction = await transactions.begin(node.dataSource);
    await node.delays.cancel('test.armed', 'stopped', { manager: transaction.manager });
    const done = completion('later');
    await node.delays.schedule('test.armed', null, { after: 300, key: 'later' });
    await transaction.commit();
    await done;
    expect(fired).toEqual(['later']);
  });

  it('still fires when the cancel that held it past its due time is rolled back', async () => {
    await node.delays.schedule('test.armed', null, { after: 100, key: 'let go' });
    const transaction = await transactions.begin(node.dataSource);
    await node.delays.cancel('test.armed', 'let go', { manager: transaction.manager });
    const later = completion('later');
    await node.delays.schedule('test.armed', null, { after: 200, key: 'later' });
    await later;
    const done = completion('let go');
    await transaction.rollback();
    await done;
    expect(fired).toEqual(['later', 'let go']);
  });
});

describe('the manager of a call', () => {
  it.each(['another DataSource', 'no DataSource at all'])('is refused from %s', async (what) => {
    const other = new DataSource({ type: 'postgres', url: database.url });
    await other.initialize();
    try {
      const manager = what === 'another DataSource' ? other.manager : ({} as never);
      const options = { manager };
      const before = await count();
      for (const call of [
        () => node.delays.schedule('test.a', { n: 1 }, { after: 0, key: 'm', manager }),
        () => node.delays.scheduleMany([{ name: 'test.z', payload: 1, after: 0 }], options),
        () => node.delays.cancel('test.a', 'm', options),
        () => node.delays.reschedule('test.a', 'm', { after: 0 }, options),
        () => node.delays.retryDead('test.a', 'm', options),
        () => node.delays.find('test.a', 'm', options),
        () => node.delays.history('test.a', 'm', options),
      ]) {
        const error: unknown = await call().then(
          () => null,
          (thrown: unknown) => thrown,
        );
        expect(error).toBeInstanceOf(DelayInvalidError);
        expect((error as DelayInvalidError).field).toBe('manager');
      }
      expect(await count()).toBe(before);
    } finally {
      await other.destroy();
    }
  });
});

const codeOf = (error: unknown): unknown =>
  error instanceof QueryFailedError ? error.driverError.code : error;

describe.each(['REPEATABLE READ', 'SERIALIZABLE'] as const)('a caller in %s', (isolation) => {
  it('schedules, replaces, reschedules and cancels like any other', async () => {
    const { manager, commit } = await transactions.begin(node.dataSource, isolation);
    const key = `${isolation}/plain`;
    const verdicts = [
      await node.delays.schedule('test.a', { n: 1 }, { after: '1h', key, manager }),
      await node.delays.schedule('test.a', { n: 2 }, { after: '1h', key, manager }),
      await node.delays.reschedule('test.a', key, { after: '2h' }, { manager }),
      await node.delays.cancel('test.a', key, { manager }),
      await node.delays.schedule('test.a', { n: 3 }, { after: '1h', key, manager }),
    ].map(({ verdict }) => verdict);
    await commit();
    expect(verdicts).toEqual(['scheduled', 'replaced', 'rescheduled', 'cancelled', 'scheduled']);
    expect(await node.delays.find('test.a', key)).toMatchObject({ payload: { n: 3 } });
  });

  it.each(['replaced', 'cancelled', 'new'])(
    'hears 40001 about a key that was %s since its snapshot, and nothing is stored',
    async (what) => {
      const key = `${isolation}/${what}`;
      const { manager, rollback } = await transactions.begin(node.dataSource, isolation);
      if (what !== 'new') await node.delays.schedule('test.a', { n: 1 }, { after: '1h', key });
      await manager.query('SELECT 1 FROM delay_queue.delay LIMIT 1');
      if (what === 'cancelled') await node.delays.cancel('test.a', key);
      else await node.delays.schedule('test.a', { n: 2 }, { after: '1h', key });
      const code: unknown = await node.delays
        .schedule('test.a', { n: 3 }, { after: '1h', key, manager })
        .then(({ verdict }) => verdict, codeOf);
      expect(code).toBe('40001');
      await rollback();
      const found = await node.delays.find('test.a', key);
      expect(found?.payload).toEqual(what === 'cancelled' ? undefined : { n: 2 });
    },
  );
});
