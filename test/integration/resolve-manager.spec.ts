import { AsyncLocalStorage } from 'node:async_hooks';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource, type EntityManager } from 'typeorm';
import { ActingNode, KEY, NAMES } from '../support/acting-node.js';

/** As libraries have it: outside of a transaction `tx` is a manager of the whole pool. */
class TransactionHost {
  readonly #storage = new AsyncLocalStorage<unknown>();
  fallback!: EntityManager;

  get tx(): unknown {
    return this.#storage.getStore() ?? this.fallback;
  }

  with<T>(manager: unknown, work: () => T): T {
    return this.#storage.run(manager, work);
  }

  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return node.dataSource.transaction((manager) => this.with(manager, () => work(manager)));
  }
}

const host = new TransactionHost();
const node = new ActingNode({ options: { resolveManager: () => host.tx as EntityManager } });

const LATER = { after: '1h' } as const;
const ITEM = { name: 'test.a', payload: { n: 1 }, ...LATER, key: 'many' } as const;

beforeAll(() => {
  host.fallback = node.dataSource.manager;
});

const keys = async (): Promise<unknown[]> =>
  (await node.sql('SELECT key FROM delay_queue.delay ORDER BY key')).map(({ key }) => key);

const later = (key: string, manager?: EntityManager | 'own') =>
  node.delays.schedule('test.a', { n: 1 }, { ...LATER, key, manager });

const rollback = new Error('rolled back');

const undone = (work: (manager: EntityManager) => Promise<unknown>): Promise<void> =>
  expect(
    host.transaction(async (manager) => {
      await work(manager);
      throw rollback;
    }),
  ).rejects.toBe(rollback);

describe('without a manager', () => {
  it('a write lives and dies with the surrounding transaction', async () => {
    await undone(async () => {
      await later('one');
      await node.delays.scheduleMany([ITEM]);
      expect(await node.delays.find('test.a', 'one')).toMatchObject({ state: 'scheduled' });
      expect(await keys()).toEqual([]);
    });
    expect(await keys()).toEqual([]);
    await host.transaction(() => later('two'));
    expect(await keys()).toEqual(['two']);
  });

  it('whatever changes a delay is undone with it', async () => {
    await later('k');
    const before = await node.delays.find('test.a', 'k');
    for (const change of [
      () => node.delays.cancel('test.a', 'k'),
      () => node.delays.cancelMany([{ name: 'test.a', key: 'k' }]),
      () => node.delays.reschedule('test.a', 'k', { after: '2h' }),
      () => node.admin.cancel({ name: 'test.a' }),
    ]) {
      await undone(change);
      expect([change.toString(), await node.delays.find('test.a', 'k')]).toEqual([
        change.toString(),
        before,
      ]);
    }
  });

  it('and without a transaction around it, it is one of its own', async () => {
    await later('fallback');
    await host.with(undefined, () => later('none'));
    const runner = node.dataSource.createQueryRunner();
    await host.with(runner.manager, () => later('no transaction'));
    await runner.startTransaction();
    await runner.commitTransaction();
    await host.with(runner.manager, () => later('over'));
    await runner.release();
    await host.with(runner.manager, () => later('released'));
    expect(await keys()).toEqual(['fallback', 'no transaction', 'none', 'over', 'released']);
  });

  it('a write that comes while that transaction ends is refused, not written without it', async () => {
    const runner = node.dataSource.createQueryRunner();
    await runner.startTransaction();
    const committed = runner.query('COMMIT');
    await expect(host.with(runner.manager, () => later('late'))).rejects.toMatchObject({
      code: 'DELAY_INVALID',
      field: 'manager',
    });
    await committed;
    await runner.rollbackTransaction();
    await runner.release();
    expect(await keys()).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    [
      'null',
      null,
      'must return an EntityManager, a transaction such as fromPrisma(tx), or undefined, not null',
    ],
    [
      'a promise',
      Promise.resolve(),
      'must return an EntityManager, a transaction such as fromPrisma(tx), or undefined, not a Promise',
    ],
  ])('an answer that is %s is refused', async (_, answer, why) => {
    const { fallback } = host;
    host.fallback = answer as EntityManager;
    await expect(later('k')).rejects.toMatchObject({ field: 'resolveManager', why });
    host.fallback = fallback;
    expect(await keys()).toEqual([]);
  });
});

it('a transaction of another DataSource is refused: the two could not commit together', async () => {
  const { options } = node.dataSource;
  const other = await new DataSource({ ...options, entities: [], migrations: [] }).initialize();
  await other.transaction(async (manager) => {
    await expect(host.with(manager, () => later('k'))).rejects.toMatchObject({
      field: 'manager',
      why: expect.stringContaining('another DataSource'),
    });
  });
  await other.destroy();
});

it("what the caller says wins: `manager: 'own'` stays outside, a manager is the one that is meant", async () => {
  const transaction = await node.begin();
  await undone(async () => {
    await later('own', 'own');
    await later('named', transaction.manager);
  });
  expect(await keys()).toEqual(['own']);
  await transaction.commit();
  expect(await keys()).toEqual(['named', 'own']);
});

describe('inside a handler', () => {
  it('that is transactional its rules stay, whatever surrounds the call', async () => {
    const { answer } = await node.fire('transactional', async () => {
      let inside: unknown[] = [];
      await undone(async (manager) => {
        await later('inner', manager);
        inside = [
          await later('k').catch((error: Error) => error.message),
          await node.delays.find('test.a', 'inner'),
        ];
      });
      return inside;
    });
    expect(answer).toEqual([expect.stringContaining('ctx.manager'), null]);
    expect(await keys()).toEqual([]);
  });

  it('that is plain, its own key moves on with the transaction around the call', async () => {
    const { end } = await node.fire('plain', async (_, { attempt }) => {
      if (attempt > 1) return;
      await undone(() => node.delays.schedule(NAMES.plain, 'next', { ...LATER, key: KEY }));
    });
    expect(end.event).toBe('completed');
    const again = await node.fire('plain', () =>
      host.transaction(() => node.delays.schedule(NAMES.plain, 'next', { ...LATER, key: KEY })),
    );
    expect(again.end.event).toBe('superseded');
    expect(await node.delays.find(NAMES.plain, KEY)).toMatchObject({ payload: 'next' });
  });
});
