import { describe, expect, it } from '@jest/globals';
import { DelayRolledBackError } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { plainHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { Parts } from '../support/parts.js';
import { Stage } from './engine/support/stage.js';
import { NodeStore } from '../support/engine-parts.js';

/**
 * What memory believes never outranks what a row says. Neither a load nor a sweep comes along while these
 * tests run: a delay that is forgotten, or put off by what never happened, does not fire in time.
 */
const NAME = 'test.armed';
const ARMED_ONLY = { horizon: '1h', loadEvery: '59m', lease: '1h' } as const;
const SOON = 700;

const parts = new Parts().makeSweepsRare();
const node = new OneNode({ parts, providers: [plainHandler(NAME, () => {})], options: ARMED_ONLY });

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

/** Every write that puts a delay off, or takes it away. */
const CHANGES: Change[] = [
  (key, manager) => node.delays.cancel(NAME, key, { manager }),
  (key, manager) => node.delays.reschedule(NAME, key, { after: '50m' }, { manager }),
  (key, manager) => node.delays.schedule(NAME, null, { after: '50m', key, manager }),
  (key, manager) =>
    node.delays.scheduleMany([{ name: NAME, payload: null, after: '50m', key }], { manager }),
];

const oops = new Error('rolled back on purpose');

type Changes = (manager: EntityManager) => Promise<unknown>;

/** How all that a transaction has put off can be taken back; TypeORM knows of some of them only. */
const WAYS_BACK: Record<string, (changes: Changes) => Promise<unknown>> = {
  'a savepoint that is rolled back, though the rest commits': (changes) =>
    node.dataSource.transaction(async (manager) => {
      const inner = manager.transaction(async (nested) => {
        await changes(nested);
        throw oops;
      });
      await expect(inner).rejects.toBe(oops);
      await manager.query('SELECT 1');
    }),
  'a savepoint that is rolled back with the one around it': (changes) =>
    node.dataSource.transaction(async (manager) => {
      const outer = manager.transaction(async (nested) => {
        await nested.transaction(changes);
        throw oops;
      });
      await expect(outer).rejects.toBe(oops);
    }),
  'a savepoint in plain SQL': (changes) =>
    node.dataSource.transaction(async (manager) => {
      await manager.query('SAVEPOINT mine');
      await changes(manager);
      await manager.query('ROLLBACK TO SAVEPOINT mine');
    }),
  'a transaction that is begun and rolled back in plain SQL': async (changes) => {
    const runner = node.dataSource.createQueryRunner();
    await runner.query('BEGIN');
    await changes(runner.manager);
    await runner.query('ROLLBACK');
    await runner.release();
  },
  'a COMMIT that is answered by ROLLBACK, of which the caller hears': async (changes) => {
    const committed = node.dataSource.transaction(async (manager) => {
      await changes(manager);
      await manager.query('SELECT * FROM no_such_table').catch(() => {});
    });
    await expect(committed).rejects.toBeInstanceOf(DelayRolledBackError);
  },
};

it.each(Object.keys(WAYS_BACK))('what %s takes back puts nothing off', async (way) => {
  const delays = await Promise.all(CHANGES.map(soon));
  await WAYS_BACK[way]!(async (manager) => {
    for (const [at, change] of CHANGES.entries()) await change(delays[at]!.key, manager);
  });
  const fired = await Promise.all(delays.map((delay) => delay.fired));
  expect(fired).toHaveLength(CHANGES.length);
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

describe('a COMMIT that is answered by ROLLBACK is told to whoever has made a call', () => {
  it.each<[string, (manager: EntityManager) => Promise<unknown>]>([
    ['cancelled nothing', (manager) => node.delays.cancel(NAME, 'nobody', { manager })],
    ['only looked', (manager) => node.delays.find(NAME, 'nobody', { manager })],
    ['looked for all', (manager) => node.admin.count({ name: NAME }, { manager })],
  ])('one that %s', async (_, call) => {
    const committed = node.dataSource.transaction(async (manager) => {
      await call(manager);
      await manager.query('SELECT * FROM no_such_table').catch(() => {});
    });
    await expect(committed).rejects.toBeInstanceOf(DelayRolledBackError);
  });

  it('one whose own statement failed', async () => {
    const holder = await node.begin();
    const held = { after: '50m', key: 'held' } as const;
    await node.delays.schedule(NAME, null, { ...held, manager: holder.manager });
    const committed = node.dataSource.transaction(async (manager) => {
      await manager.query(`SET LOCAL lock_timeout = '10ms'`);
      const refused = node.delays.schedule(NAME, null, { ...held, manager });
      await expect(refused).rejects.toMatchObject({ code: '55P03' });
    });
    await expect(committed).rejects.toBeInstanceOf(DelayRolledBackError);
  });

  it('but not to a later transaction on the same connection, in which there was no call', async () => {
    const runner = node.dataSource.createQueryRunner();
    await runner.startTransaction();
    await node.delays.find(NAME, 'nobody', { manager: runner.manager });
    await runner.commitTransaction();
    await runner.startTransaction();
    await runner.query('SELECT * FROM no_such_table').catch(() => {});
    await expect(runner.commitTransaction()).resolves.toBeUndefined();
    await runner.release();
  });
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

it('a delay that is put off and then brought forward fires in time', async () => {
  const { key, fired } = await soon();
  await node.delays.reschedule(NAME, key, { after: '50m' });
  await node.delays.reschedule(NAME, key, { after: 0 });
  expect(await fired).toMatchObject({ name: NAME });
});

const notify = (text: string) =>
  node.dataSource.query('SELECT pg_notify($1, $2)', ['delay_queue', text]);

/** What a stranger says of an id. */
const LIES: ((id: number, nowMs: number) => unknown[])[] = [
  (id, nowMs) => [id, 90, NAME, nowMs + 3e6],
  (id) => [id, Number.MAX_SAFE_INTEGER, NAME, 0],
  (id, nowMs) => [id, 0, NAME, nowMs + 3e6],
  (id) => [id, 0, NAME, 0],
];

describe('a NOTIFY of a stranger', () => {
  it('puts nothing off and fails no claim, whatever its epoch and its time', async () => {
    const delays = await Promise.all(LIES.map(soon));
    const hints = LIES.map((lie, at) => lie(Number(delays[at]!.id), Date.now()));
    await notify(`w${JSON.stringify(hints)}`);
    const fired = await Promise.all(delays.map((delay) => delay.fired));
    expect(fired).toHaveLength(LIES.length);
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

it('what is committed long after it was written is announced by the clock at the commit', async () => {
  const own = await Stage.open();
  // Loads find nothing, and no sweep comes: nothing else would find it in time.
  own.parts.makeSweepsRare();
  own.parts.intercept(NodeStore, 'load', async ({ real }) => {
    return { ...(await real()), wakes: [], cursor: null };
  });
  const brief = await own.start({
    providers: [plainHandler(NAME, () => {})],
    options: { horizon: '1s', loadEvery: '900ms', lease: '1h' },
  });
  const fired = brief.next('completed');
  await brief.dataSource.transaction(async (manager) => {
    const { dueAt } = await brief.delays.schedule(NAME, null, { after: 1_100, manager });
    await manager.query('SELECT pg_sleep_until($1::timestamptz)', [dueAt]);
  });
  expect(await fired).toMatchObject({ name: NAME });
  await own.close();
});
