import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, startNode } from '../support/delay-node.js';
import { OpenTransactions } from '../support/open-transactions.js';

/** A call that nobody awaited meets the end of its transaction. Nothing of it may land behind that end. */
const NAME = 'test.a';
const REFUSED = { status: 'rejected', reason: { code: 'DELAY_INVALID', field: 'manager' } };

let database: TestDatabase;
let node: DelayNode;
const transactions = new OpenTransactions();

beforeEach(async () => {
  database = await createTestDatabase();
  node = await startNode({ url: database.url });
});

afterEach(async () => {
  await transactions.rollbackAll();
  await node.stop();
  await database.drop();
});

const schedule = (key: string, manager?: EntityManager) =>
  node.delays.schedule(NAME, { n: 1 }, { after: '1h', key, manager });

const liveKeys = async (): Promise<string[]> =>
  (
    await node.dataSource.query<{ key: string }[]>('SELECT key FROM delay_queue.delay ORDER BY 1')
  ).map(({ key }) => key);

describe('a call and the end of its transaction', () => {
  it.each(['rollback', 'commit'] as const)(
    'a call that nobody awaited writes nothing after the %s',
    async (how) => {
      await schedule('a');
      const other = await transactions.begin(node.dataSource);
      await other.manager.query('SELECT FROM delay_queue.delay WHERE key = $1 FOR UPDATE', ['a']);
      const { manager } = await transactions.begin(node.dataSource);
      const { queryRunner } = manager;
      const left = node.delays.cancel(NAME, 'a', { manager });
      const answer = Promise.allSettled([left]);
      await other.isMet();
      // Its connection stays open, as that of a runner does which is used again.
      await (how === 'commit'
        ? queryRunner!.commitTransaction()
        : queryRunner!.rollbackTransaction());
      await other.rollback();
      expect(await answer).toMatchObject([REFUSED]);
      expect(await liveKeys()).toEqual(['a']);
    },
  );

  it('a call that comes while a rollback is on its way writes nothing after it', async () => {
    const { manager } = await transactions.begin(node.dataSource);
    const { queryRunner } = manager;
    const rolledBack = queryRunner!.rollbackTransaction();
    const left = schedule('a', manager);
    const answer = Promise.allSettled([left]);
    await rolledBack;
    expect(await answer).toMatchObject([REFUSED]);
    expect(await liveKeys()).toEqual([]);
    await queryRunner!.startTransaction();
    await schedule('b', manager);
    await queryRunner!.commitTransaction();
    expect(await liveKeys()).toEqual(['b']);
  });

  it.each(['in plain SQL', 'by TypeORM'] as const)(
    'a call that comes while a COMMIT %s is on its way stands or falls with it, or is refused',
    async (how) => {
      await node.dataSource.query('CREATE TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
      await node.dataSource.query('INSERT INTO late VALUES (1)');
      const { manager } = await transactions.begin(node.dataSource);
      const queryRunner = manager.queryRunner!;
      for (let turns = 0; turns < 20; turns += 1) {
        await manager.query('INSERT INTO late VALUES (1)');
        const committed = Promise.allSettled([
          how === 'by TypeORM' ? queryRunner.commitTransaction() : manager.query('/* a */ commit'),
        ]);
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        const left = Promise.allSettled([schedule(`a${turns}`, manager)]);
        expect(await committed).toMatchObject([{ status: 'rejected' }]);
        await left;
        expect(await liveKeys()).toEqual([]);
        // The server's transaction is over, though TypeORM's is not.
        expect(await Promise.allSettled([schedule('b', manager)])).toMatchObject([REFUSED]);
        await queryRunner.rollbackTransaction();
        await queryRunner.startTransaction();
      }
      await schedule('c', manager);
      await queryRunner.commitTransaction();
      expect(await liveKeys()).toEqual(['c']);
    },
  );

  it('a COMMIT that a subscriber of the application kept back is not waited for for ever', async () => {
    const { manager } = await transactions.begin(node.dataSource);
    const queryRunner = manager.queryRunner!;
    const refuses = {
      beforeQuery: ({ query }: { query: string }) => {
        if (query === 'COMMIT') throw new Error('not now');
      },
    };
    node.dataSource.subscribers.push(refuses);
    await expect(queryRunner.commitTransaction()).rejects.toThrow('not now');
    node.dataSource.subscribers.splice(node.dataSource.subscribers.indexOf(refuses), 1);
    await queryRunner.rollbackTransaction();
    await queryRunner.startTransaction();
    await schedule('a', manager);
    await queryRunner.commitTransaction();
    expect(await liveKeys()).toEqual(['a']);
  });

  it.each(['COMMIT AND CHAIN', 'ROLLBACK WORK TO SAVEPOINT inner_one', 'COMMIT; BEGIN'])(
    'a call joins the transaction that goes on after %s',
    async (sql) => {
      const { manager } = await transactions.begin(node.dataSource);
      await manager.query('SAVEPOINT inner_one');
      await manager.query(sql);
      await schedule('a', manager);
      await manager.queryRunner!.rollbackTransaction();
      expect(await liveKeys()).toEqual([]);
    },
  );
});
