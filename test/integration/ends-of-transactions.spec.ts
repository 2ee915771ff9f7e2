import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayRolledBackError } from 'nestjs-delay-queue';
import type { PoolClient } from 'pg';
import type { EntityManager, QueryRunner } from 'typeorm';
import { OneNode } from '../support/one-node.js';
import type { Witnessed } from '../support/parts.js';
import { Engine } from '../support/engine-parts.js';

/** A caller's transaction ends, or begins anew, in more ways than TypeORM knows of: the server's word counts. */
const node = new OneNode();
let armed: Witnessed<Engine['announce']>['calls'];

let runner: QueryRunner;

beforeEach(() => void (armed = node.parts.intercept(Engine, 'announce').calls));

afterEach(async () => {
  ids.clear();
  if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => {});
  await runner.query('ROLLBACK').catch(() => {});
  await runner.release();
});

/** Of this test: a transaction of the one before may have been over unnoticed, and is told of late. */
const ids = new Set<number>();

async function later(key: string) {
  const options = { after: '1s', key, manager: runner.manager } as const;
  const result = await node.delays.schedule('test.a', { n: 1 }, options);
  ids.add(Number(result.id));
  return result;
}

const keys = async (): Promise<unknown[]> =>
  (await node.sql('SELECT key FROM delay_queue.delay ORDER BY key')).map(({ key }) => key);

/** Told with `certain: true` the wheel believes it, else a load does. */
const heard = (): unknown[] =>
  armed.flatMap(([wake, , certain]) => (ids.has(wake.id) ? [certain] : []));

const DOORS: Record<string, (sql: string) => Promise<unknown>> = {
  'by its manager': (sql) => runner.manager.query(sql),
  'by the client': async (sql) => ((await runner.connect()) as PoolClient).query(sql),
};

const BEGINS: Record<string, () => Promise<unknown>> = {
  'by TypeORM': () => runner.startTransaction(),
  'in plain SQL': () => runner.query('/* of the application */ BEGIN'),
};

async function begin(how: string): Promise<void> {
  runner = node.dataSource.createQueryRunner();
  await runner.connect();
  await BEGINS[how]!();
}

const rolledBack = expect.objectContaining({ code: 'DELAY_ROLLED_BACK' });

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => error,
  );

describe.each(Object.keys(BEGINS))('a transaction that began %s', (beginning) => {
  describe.each(Object.entries(DOORS))('and is ended %s', (door, send) => {
    it.each([
      ['COMMIT AND CHAIN'],
      ['COMMIT; BEGIN'],
      ['END WORK AND CHAIN; SELECT 1'],
      ['SELECT 1; COMMIT; SELECT 2; BEGIN; SELECT 3'],
    ])(
      'by %s: what was written is told of then, what comes then is of the next one',
      async (sql) => {
        await begin(beginning);
        await later('one');
        expect(heard()).toEqual([]);
        await send(sql);
        expect(heard()).toEqual([true]);
        expect(await keys()).toEqual(['one']);
        await later('two');
        await send('ROLLBACK');
        expect(heard()).toEqual([true]);
        expect(await keys()).toEqual(['one']);
      },
    );

    it.each(['ROLLBACK AND CHAIN', 'ROLLBACK; BEGIN', 'abort transaction and chain'])(
      'by %s: what was written is never told of for certain, what comes then is',
      async (sql) => {
        await begin(beginning);
        await later('one');
        await send(sql);
        await later('two');
        await send('COMMIT');
        expect(await keys()).toEqual(['two']);
        // By its text it is known: the client's own is a guess, and the row decides.
        expect(heard()).toEqual(door === 'by its manager' ? [true] : [false, false]);
      },
    );

    it('by COMMIT among others: told of at once', async () => {
      await begin(beginning);
      await later('one');
      await send('SELECT 1; COMMIT; SELECT 2');
      expect(heard()).toEqual([true]);
      expect(await keys()).toEqual(['one']);
    });

    it('by COMMIT, and an error behind it: it is committed all the same', async () => {
      await begin(beginning);
      await later('one');
      await expect(send('COMMIT; SELECT 1 / 0')).rejects.toThrow(/division/);
      expect(heard()).toEqual([true]);
    });
  });

  it.each(['COMMIT', 'END', 'COMMIT AND CHAIN', '/* now */ commit work'])(
    'a %s that is answered by ROLLBACK is told to who wrote it',
    async (sql) => {
      await begin(beginning);
      await later('one');
      await runner.query('SELECT 1 / 0').catch(() => {});
      const isTypeOrms = beginning === 'by TypeORM' && !/CHAIN/.test(sql);
      expect(await outcomeOf(runner.query(sql))).toEqual(isTypeOrms ? 'done' : rolledBack);
      const itsOwn = isTypeOrms
        ? runner.commitTransaction()
        : Promise.reject(new DelayRolledBackError());
      await expect(itsOwn).rejects.toEqual(rolledBack);
      expect(heard()).toEqual([]);
    },
  );

  it('and one that was rolled back on purpose says nothing of the next one', async () => {
    await begin(beginning);
    await later('one');
    await runner.query('ROLLBACK AND CHAIN');
    expect(await outcomeOf(runner.query('COMMIT'))).toBe('done');
  });

  it.each(['COMMIT AND CHAIN', 'COMMIT; BEGIN', 'ROLLBACK AND CHAIN'])(
    'a call that is made while %s is on its way is refused: its transaction is not the next one',
    async (sql) => {
      await begin(beginning);
      await later('one');
      const ended = runner.query(sql);
      const late = outcomeOf(later('late'));
      await ended;
      expect(await late).toMatchObject({ code: 'DELAY_INVALID', field: 'manager' });
      await later('of the next one');
      await runner.query('COMMIT');
      expect(await keys()).not.toContain('late');
    },
  );

  it('COMMIT in a procedure, or in a DO block, is refused by Postgres: nothing is told', async () => {
    await begin(beginning);
    await later('one');
    await expect(runner.query('DO $$ BEGIN COMMIT; END $$')).rejects.toMatchObject({
      code: '2D000',
    });
    await runner.query('ROLLBACK');
    expect(heard()).toEqual([]);
    expect(await keys()).toEqual([]);
  });

  it('of what a savepoint in plain SQL may have taken back nothing is certain', async () => {
    await begin(beginning);
    await later('before');
    await runner.query('SAVEPOINT s');
    await later('within');
    await runner.query('ROLLBACK TO SAVEPOINT s');
    await later('behind');
    await runner.query('COMMIT');
    expect(heard()).toEqual([false, false, false]);
    expect(await keys()).toEqual(['before', 'behind']);
  });

  it('a savepoint that was over before the first call, or is kept, makes nothing uncertain', async () => {
    await begin(beginning);
    await runner.query('SAVEPOINT s; ROLLBACK TO s');
    await later('one');
    await runner.query('SAVEPOINT t; RELEASE t');
    await runner.query('COMMIT');
    expect(heard()).toEqual([true]);
  });

  it('what is certain of one transaction is nothing of the next on its connection', async () => {
    await begin(beginning);
    await later('one');
    await runner.query('SAVEPOINT s; ROLLBACK TO s');
    await runner.query('COMMIT AND CHAIN');
    await later('two');
    await runner.query('COMMIT');
    expect(heard()).toEqual([false, true]);
  });

  it('the end of its session is the end of it', async () => {
    await begin(beginning);
    await later('one');
    const client: { processID: number } = (await runner.connect()) as never;
    await node.sql('SELECT pg_terminate_backend($1)', [client.processID]);
    await expect(runner.query('COMMIT')).rejects.toThrow(/terminat|Connection|closed|released/i);
    expect(await keys()).toEqual([]);
  });
});

/** One call, several statements: half of it must not land in the next transaction. */
it('a call whose second statement comes behind COMMIT AND CHAIN is refused', async () => {
  await begin('by TypeORM');
  await node.delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'held' });
  const other = await node.begin();
  await other.manager.query(`SELECT FROM delay_queue.delay WHERE key = 'held' FOR UPDATE`);
  const { manager } = runner as { manager: EntityManager };
  const cancelled = outcomeOf(node.delays.cancel('test.a', 'held', { manager }));
  await other.isMet();
  await runner.query('COMMIT AND CHAIN');
  await other.rollback();
  expect(await cancelled).toMatchObject({ code: 'DELAY_INVALID', field: 'manager' });
});

it('the first call of all that is made while COMMIT is on its way is refused', async () => {
  const fresh = await node.start({ options: { worker: false } });
  runner = fresh.dataSource.createQueryRunner();
  await runner.startTransaction();
  const ended = runner.commitTransaction();
  const late = outcomeOf(fresh.delays.cancel('test.a', 'late', { manager: runner.manager }));
  await ended;
  expect(await late).toMatchObject({ code: 'DELAY_INVALID', field: 'manager' });
});
