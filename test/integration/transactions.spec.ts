import { beforeEach, describe, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { plainHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { Parts, type Witnessed } from '../support/parts.js';
import { Engine } from '../support/engine-parts.js';

/** Neither a load nor a sweep comes along while a test runs: what fires, fires because it was armed. */
const parts = new Parts().makeSweepsRare();
const ARMED_ONLY = { horizon: '1h', loadEvery: '59m' } as const;
const ARMED = 'test.armed';
const ITEM = { name: ARMED, payload: null, after: 0 } as const;

const node = new OneNode({
  parts,
  providers: [plainHandler(ARMED, () => {})],
  options: ARMED_ONLY,
});

let armed: Witnessed<Engine['announce']>['calls'];

beforeEach(() => void (armed = parts.intercept(Engine, 'announce').calls));

const completion = (key: string) => node.next('completed', (event) => event.key === key);

const soon = (key: string, manager?: EntityManager) =>
  node.delays.schedule(ARMED, null, { after: 0, key, manager });

const later = (key: string, manager?: EntityManager) =>
  node.delays.schedule('test.a', { n: 1 }, { after: '1h', key, manager });

const keys = async (): Promise<unknown[]> =>
  (await node.sql('SELECT key FROM delay_queue.delay ORDER BY key')).map(({ key }) => key);

describe('a delay written in the transaction of the caller', () => {
  it('is armed by the commit, and not by the end of a savepoint', async () => {
    const { manager, commit } = await node.begin();
    await soon('one', manager);
    await node.delays.scheduleMany([{ ...ITEM, key: 'many' }], { manager });
    await manager.transaction((inner) => inner.transaction((nested) => soon('nested', nested)));
    expect(armed).toEqual([]);
    const done = Promise.all(['one', 'many', 'nested'].map(completion));
    await commit();
    expect(armed).toHaveLength(3);
    await done;
  });

  it('is armed at once without a transaction, by every write that leaves it waiting', async () => {
    const key = 'every write';
    await node.delays.schedule(ARMED, null, { after: '50m', key });
    await node.delays.schedule(ARMED, null, { after: '40m', key });
    expect(armed).toHaveLength(2);
    const done = completion(key);
    await node.delays.reschedule(ARMED, key, { after: 0 });
    await done;
    expect(armed).toHaveLength(3);
  });

  it('is forgotten by the rollback: the next transaction of that query runner arms nothing', async () => {
    await later('stays');
    armed.length = 0;
    const { manager, commit } = await node.begin();
    const runner = manager.queryRunner!;
    await soon('gone', manager);
    await node.delays.scheduleMany([ITEM], { manager });
    await node.delays.reschedule('test.a', 'stays', { after: 0 }, { manager });
    await runner.rollbackTransaction();
    await runner.startTransaction();
    await runner.query('SELECT 1');
    await commit();
    expect(armed).toEqual([]);
    expect(await keys()).toEqual(['stays']);
  });

  it('still fires when the cancel that held it past its due time is rolled back', async () => {
    await node.delays.schedule(ARMED, null, { after: '1s', key: 'let go' });
    const transaction = await node.begin();
    await node.delays.cancel(ARMED, 'let go', { manager: transaction.manager });
    const beside = completion('beside');
    await node.delays.schedule(ARMED, null, { after: '1100ms', key: 'beside' });
    await beside;
    const done = completion('let go');
    await transaction.rollback();
    expect(await done).toMatchObject({ key: 'let go' });
  });
});

it.each(['replaced', 'cancelled', 'new'])(
  'a caller in SERIALIZABLE hears 40001 about a key that was %s since its snapshot',
  async (what) => {
    const { manager } = await node.begin('SERIALIZABLE');
    if (what !== 'new') await later('k');
    expect(await later('other', manager)).toMatchObject({ verdict: 'scheduled' });
    await (what === 'cancelled' ? node.delays.cancel('test.a', 'k') : later('k'));
    await expect(later('k', manager)).rejects.toMatchObject({ code: '40001' });
  },
);

/** A call that nobody awaited meets the end of its transaction. Nothing of it may land behind that end. */
describe('a call and the end of its transaction', () => {
  const REFUSED = { status: 'rejected', reason: { code: 'DELAY_INVALID', field: 'manager' } };

  it.each(['rollback', 'commit'] as const)(
    'a call that nobody awaited writes nothing after the %s',
    async (how) => {
      await later('a');
      const other = await node.begin();
      await other.manager.query('SELECT FROM delay_queue.delay WHERE key = $1 FOR UPDATE', ['a']);
      const { manager } = await node.begin();
      const queryRunner = manager.queryRunner!;
      const answer = Promise.allSettled([node.delays.cancel('test.a', 'a', { manager })]);
      await other.isMet();
      // Its connection stays open, as that of a runner does which is used again.
      await (how === 'commit'
        ? queryRunner.commitTransaction()
        : queryRunner.rollbackTransaction());
      await other.rollback();
      expect(await answer).toMatchObject([REFUSED]);
      expect(await keys()).toEqual(['a']);
    },
  );

  it('a call that comes while a rollback is on its way writes nothing after it', async () => {
    const { manager } = await node.begin();
    const queryRunner = manager.queryRunner!;
    const rolledBack = queryRunner.rollbackTransaction();
    const answer = Promise.allSettled([later('a', manager)]);
    await rolledBack;
    expect(await answer).toMatchObject([REFUSED]);
    expect(await keys()).toEqual([]);
    await queryRunner.startTransaction();
    await later('b', manager);
    await queryRunner.commitTransaction();
    expect(await keys()).toEqual(['b']);
  });

  it.each(['in plain SQL', 'by TypeORM'] as const)(
    'a call that comes while a COMMIT %s is on its way stands or falls with it, or is refused',
    async (how) => {
      await node.sql(`CREATE TABLE IF NOT EXISTS late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED);
                       TRUNCATE late; INSERT INTO late VALUES (1)`);
      const { manager } = await node.begin();
      const queryRunner = manager.queryRunner!;
      for (let turns = 0; turns < 12; turns += 1) {
        await manager.query('INSERT INTO late VALUES (1)');
        const committed = Promise.allSettled([
          how === 'by TypeORM' ? queryRunner.commitTransaction() : manager.query('/* a */ commit'),
        ]);
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        const left = Promise.allSettled([later(`a${turns}`, manager)]);
        expect(await committed).toMatchObject([{ status: 'rejected' }]);
        await left;
        expect(await keys()).toEqual([]);
        // The server's transaction is over, though TypeORM's is not.
        expect(await Promise.allSettled([later('b', manager)])).toMatchObject([REFUSED]);
        await queryRunner.rollbackTransaction();
        await queryRunner.startTransaction();
      }
      await later('c', manager);
      await queryRunner.commitTransaction();
      expect(await keys()).toEqual(['c']);
    },
  );

  it('a COMMIT that a subscriber of the application kept back is not waited for for ever', async () => {
    const { manager } = await node.begin();
    const queryRunner = manager.queryRunner!;
    const refuses = {
      beforeQuery: ({ query }: { query: string }) => {
        if (query === 'COMMIT') throw new Error('not now');
      },
    };
    const { subscribers } = node.dataSource;
    subscribers.push(refuses);
    await expect(queryRunner.commitTransaction()).rejects.toThrow('not now');
    subscribers.splice(subscribers.indexOf(refuses), 1);
    await queryRunner.rollbackTransaction();
    await queryRunner.startTransaction();
    await later('a', manager);
    await queryRunner.commitTransaction();
    expect(await keys()).toEqual(['a']);
  });

  it.each(['COMMIT AND CHAIN', 'ROLLBACK WORK TO SAVEPOINT inner_one', 'COMMIT; BEGIN'])(
    'a call joins the transaction that goes on after %s',
    async (sql) => {
      const { manager } = await node.begin();
      await manager.query('SAVEPOINT inner_one');
      await manager.query(sql);
      await later('a', manager);
      await manager.queryRunner!.rollbackTransaction();
      expect(await keys()).toEqual([]);
    },
  );
});
