import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DelayRolledBackError } from 'nestjs-delay-queue';
import type { EntityManager, QueryRunner } from 'typeorm';
import { NodeStore } from '../../src/delay-queue/store/node.store.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';
import { OpenTransactions } from '../support/open-transactions.js';
import { makeSweepsRare } from '../support/rare-sweeps.js';

makeSweepsRare();

/**
 * What memory believes never outranks what a row says. Neither a load nor a sweep comes along while these
 * tests run: a delay that is forgotten, or put off by what never happened, does not fire in time.
 */
const NAME = 'test.armed';
const ARMED_ONLY = { horizon: '1h', loadEvery: '59m', lease: '1h' } as const;
const SOON = 700;

let database: TestDatabase;
let node: DelayNode;
const transactions = new OpenTransactions();

beforeAll(async () => {
  database = await createTestDatabase();
  node = await startNode({
    url: database.url,
    providers: [plainHandler(NAME, () => {})],
    options: ARMED_ONLY,
  });
});

afterEach(() => transactions.rollbackAll());

afterAll(async () => {
  await node.stop();
  await database.drop();
});

let keys = 0;
const fires = (key: string) => node.next('completed', (event) => event.key === key);

/** A delay that is due soon, and the event that it has fired. */
async function soon(): Promise<{ key: string; id: string; fired: Promise<unknown> }> {
  const key = `soon ${(keys += 1)}`;
  const fired = fires(key);
  const { id } = await node.delays.schedule(NAME, null, { after: SOON, key });
  return { key, id, fired };
}

type Change = (key: string, manager: EntityManager) => Promise<unknown>;

const CHANGES: [string, Change][] = [
  ['cancel', (key, manager) => node.delays.cancel(NAME, key, { manager })],
  [
    'reschedule',
    (key, manager) => node.delays.reschedule(NAME, key, { after: '50m' }, { manager }),
  ],
  ['schedule', (key, manager) => node.delays.schedule(NAME, null, { after: '50m', key, manager })],
  [
    'scheduleMany',
    (key, manager) =>
      node.delays.scheduleMany([{ name: NAME, payload: null, after: '50m', key }], { manager }),
  ],
];

const oops = new Error('rolled back on purpose');

describe.each(CHANGES)('a %s', (_verb, change) => {
  it('whose savepoint is rolled back, though the rest commits, puts nothing off', async () => {
    const { key, fired } = await soon();
    await node.dataSource.transaction(async (manager) => {
      const inner = manager.transaction(async (nested) => {
        await change(key, nested);
        throw oops;
      });
      await expect(inner).rejects.toBe(oops);
      await manager.query('SELECT 1');
    });
    expect(await fired).toMatchObject({ name: NAME });
  });

  it('whose savepoint is rolled back with the one around it puts nothing off', async () => {
    const { key, fired } = await soon();
    await node.dataSource.transaction(async (manager) => {
      const outer = manager.transaction(async (nested) => {
        await nested.transaction((innermost) => change(key, innermost));
        throw oops;
      });
      await expect(outer).rejects.toBe(oops);
    });
    expect(await fired).toMatchObject({ name: NAME });
  });

  it('that a savepoint in plain SQL takes back puts nothing off', async () => {
    const { key, fired } = await soon();
    await node.dataSource.transaction(async (manager) => {
      await manager.query('SAVEPOINT mine');
      await change(key, manager);
      await manager.query('ROLLBACK TO SAVEPOINT mine');
    });
    expect(await fired).toMatchObject({ name: NAME });
  });

  it('in a transaction that is begun and rolled back in plain SQL puts nothing off', async () => {
    const { key, fired } = await soon();
    const runner = node.dataSource.createQueryRunner();
    await runner.query('BEGIN');
    await change(key, runner.manager);
    await runner.query('ROLLBACK');
    await runner.release();
    expect(await fired).toMatchObject({ name: NAME });
  });

  it('whose COMMIT is answered by ROLLBACK puts nothing off, and the caller hears of it', async () => {
    const { key, fired } = await soon();
    const committed = node.dataSource.transaction(async (manager) => {
      await change(key, manager);
      await manager.query('SELECT * FROM no_such_table').catch(() => {});
    });
    await expect(committed).rejects.toBeInstanceOf(DelayRolledBackError);
    expect(await fired).toMatchObject({ name: NAME });
  });
});

it('a statement that nobody awaits and that fails before COMMIT is heard of', async () => {
  const key = 'not awaited';
  let forgotten: Promise<unknown> | undefined;
  const committed = node.dataSource.transaction(async (manager) => {
    await node.delays.schedule(NAME, null, { after: '50m', key, manager });
    forgotten = manager.query('SELECT * FROM no_such_table');
    forgotten.catch(() => {});
  });
  await expect(committed).rejects.toMatchObject({ code: 'DELAY_ROLLED_BACK' });
  expect(await node.delays.find(NAME, key)).toBeNull();
});

it("commitTransaction of a caller's own runner rejects, too, and the runner can be released", async () => {
  const runner = node.dataSource.createQueryRunner();
  await runner.startTransaction();
  await node.delays.schedule(NAME, null, { after: '50m', manager: runner.manager });
  await runner.query('SELECT * FROM no_such_table').catch(() => {});
  await expect(runner.commitTransaction()).rejects.toBeInstanceOf(DelayRolledBackError);
  expect(runner.isTransactionActive).toBe(false);
  await runner.release();
});

it('what is scheduled in a transaction begun in plain SQL is armed by its COMMIT', async () => {
  const fired = fires('by hand');
  const runner = node.dataSource.createQueryRunner();
  await runner.query('BEGIN');
  await node.delays.schedule(NAME, null, { after: 0, key: 'by hand', manager: runner.manager });
  await runner.query('COMMIT');
  await runner.release();
  expect(await fired).toMatchObject({ name: NAME });
});

it('what stands although another savepoint was rolled back is armed', async () => {
  const fired = fires('stands');
  await node.dataSource.transaction(async (manager) => {
    await node.delays.schedule(NAME, null, { after: 0, key: 'stands', manager });
    const inner = manager.transaction(() => Promise.reject(oops));
    await expect(inner).rejects.toBe(oops);
  });
  expect(await fired).toMatchObject({ name: NAME });
});

it('a delay that is put off and then brought forward fires in time', async () => {
  const { key, fired } = await soon();
  await node.delays.reschedule(NAME, key, { after: '50m' });
  await node.delays.reschedule(NAME, key, { after: 0 });
  expect(await fired).toMatchObject({ name: NAME });
});

const notify = (text: string) =>
  node.dataSource.query('SELECT pg_notify($1, $2)', ['delay_queue', text]);

describe('a NOTIFY of a stranger', () => {
  it.each([
    ['a later epoch, and a later time', (id: number, nowMs: number) => [id, 90, NAME, nowMs + 3e6]],
    ['a later epoch, and a time that is past', (id: number) => [id, 90, NAME, 0]],
    ['the same epoch, and a later time', (id: number, nowMs: number) => [id, 0, NAME, nowMs + 3e6]],
    ['the same epoch, and a time that is past', (id: number) => [id, 0, NAME, 0]],
  ])('with %s puts nothing off', async (_what, hint) => {
    const { id, fired } = await soon();
    await notify(`w${JSON.stringify([hint(Number(id), Date.now())])}`);
    expect(await fired).toMatchObject({ name: NAME });
  });

  it('of ids that were never there leaves room for what is', async () => {
    const { fired } = await soon();
    const nowMs = Date.now();
    for (let page = 0; page < 200; page += 1) {
      const wakes = Array.from({ length: 150 }, (_, n) => [
        1e9 + page * 150 + n,
        0,
        NAME,
        nowMs + n * 10,
      ]);
      await notify(`w${JSON.stringify(wakes)}`);
    }
    const after = fires('after the flood');
    await node.delays.schedule(NAME, null, { after: 0, key: 'after the flood' });
    expect(await Promise.all([fired, after])).toHaveLength(2);
  });
});

describe('a delay that is committed long after it was written', () => {
  let brief: DelayNode;
  let runner: QueryRunner;

  afterEach(async () => {
    jest.restoreAllMocks();
    await runner.release();
    await brief.stop();
  });

  it('is announced by the clock at the commit: nothing else would find it in time', async () => {
    const own = await createTestDatabase();
    // Loads find nothing, and no sweep comes.
    // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
    const load = NodeStore.prototype.load;
    jest.spyOn(NodeStore.prototype, 'load').mockImplementation(async function empty(
      this: NodeStore,
      ...given
    ) {
      return { ...(await load.apply(this, given)), wakes: [], cursor: null };
    });
    brief = await startNode({
      url: own.url,
      providers: [plainHandler(NAME, () => {})],
      options: { horizon: '1s', loadEvery: '900ms', lease: '1h' },
    });
    runner = brief.dataSource.createQueryRunner();
    await runner.startTransaction();
    const { manager } = runner;
    const fired = brief.next('completed');
    const { dueAt } = await brief.delays.schedule(NAME, null, { after: 1_500, manager });
    await runner.query('SELECT pg_sleep_until($1::timestamptz)', [dueAt]);
    await runner.commitTransaction();
    expect(await fired).toMatchObject({ name: NAME });
    await runner.release();
    await brief.stop();
    await own.drop();
  });
});
