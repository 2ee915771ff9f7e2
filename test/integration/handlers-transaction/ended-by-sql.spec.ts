import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { DelayInvalidError } from 'nestjs-delay-queue';
import { Query, type PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import { ActingNode, type AttemptEnd } from '../../support/acting-node.js';
import { EFFECT_TABLE, INSERT } from './ways.js';

/** A handler that takes the transaction into its own hands: effects happen once all the same. */
const acting = new ActingNode();

beforeAll(() => acting.sql(EFFECT_TABLE));

afterEach(() => acting.sql('TRUNCATE effect'));

/** How the only attempt of a delay ends, whose handler does that. */
async function endOf(handle: (manager: EntityManager) => Promise<unknown>): Promise<AttemptEnd> {
  const act = ({ manager }: { manager?: EntityManager }) => handle(manager!);
  return (await acting.fire('transactional', act, { maxAttempts: 1 })).end;
}

const effects = (): Promise<{ n: number }[]> => acting.sql('SELECT n FROM effect ORDER BY n');

const ENDS = [
  'COMMIT',
  'END',
  'ROLLBACK',
  'ABORT',
  `PREPARE TRANSACTION 'x'`,
  '/* at last */ COMMIT AND CHAIN',
  'INSERT INTO effect (n) VALUES (2); COMMIT; BEGIN',
];

const DOORS: Record<string, (manager: EntityManager, sql: string) => Promise<unknown>> = {
  'its manager': (manager, sql) => manager.query(sql),
  'the client': async (manager, sql) =>
    ((await manager.queryRunner!.connect()) as PoolClient).query({ text: sql }),
  'the client, with a query of its own': async (manager, sql) => {
    const client = (await manager.queryRunner!.connect()) as PoolClient;
    const query = client.query(new Query(sql));
    await new Promise((resolve, reject) => query.once('end', resolve).once('error', reject));
  },
};

it.each(Object.entries(DOORS))(
  'through %s an end of the transaction is refused: the attempt goes on where its handler swallows that, else it fails as a whole',
  async (_door, send) => {
    const errors: unknown[] = [];
    const goesOn = await endOf(async (manager) => {
      await manager.query(INSERT, [1]);
      for (const sql of ENDS) {
        await send(manager, sql).catch((error: unknown) => errors.push(error));
      }
    });
    expect(goesOn.event).toBe('completed');
    expect(errors).toEqual(ENDS.map(() => expect.any(DelayInvalidError)));
    expect(await effects()).toEqual([{ n: 1 }]);

    const fails = await endOf(async (manager) => {
      await manager.query(INSERT, [2]);
      await send(manager, '/* at last */ COMMIT');
    });
    expect(fails).toMatchObject({
      event: 'dead',
      error: expect.stringMatching(/^DelayInvalidError: manager: [A-Z ]+ was not sent/),
    });
    expect(await effects()).toEqual([{ n: 1 }]);
  },
);

it('a ROLLBACK that is sent all the same never leads to "completed"', async () => {
  const ending = await endOf(async (manager) => {
    await manager.query(INSERT, [1]);
    await manager.query('SET LOCAL standard_conforming_strings = off');
    // By these settings the first text ends where, by the usual ones, the second begins.
    await manager.query(String.raw`SELECT '\' , '; ROLLBACK; --'`);
  });
  expect(ending).toMatchObject({
    event: 'dead',
    error: expect.stringMatching(/the transaction was ended while the handler ran/),
  });
  expect(await effects()).toEqual([]);
});

it('the connection of a handler is not its to end', async () => {
  const errors: unknown[] = [];
  const ending = await endOf(async (manager) => {
    const client = (await manager.queryRunner!.connect()) as PoolClient;
    for (const act of ['end', 'release', 'connect'] as const) {
      try {
        await (client as unknown as Record<typeof act, () => Promise<void>>)[act]();
      } catch (error) {
        errors.push(error);
      }
    }
    await manager.queryRunner!.release().catch((error: unknown) => errors.push(error));
    await manager.query(INSERT, [1]);
  });
  expect(ending.event).toBe('completed');
  expect(errors).toEqual(Array.from({ length: 4 }, () => expect.any(DelayInvalidError)));
  expect(await effects()).toEqual([{ n: 1 }]);
});
