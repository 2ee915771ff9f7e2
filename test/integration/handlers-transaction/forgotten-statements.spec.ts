import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { type ActingContext, ActingNode } from '../../support/acting-node.js';
import { until } from '../../support/until.js';
import { EFFECT_TABLE, INSERT } from './ways.js';

/**
 * What the engine prepares on the application's sessions, the application may make the server forget; the client
 * goes on believing that it is there.
 */
const prepared = async ({ manager }: ActingContext): Promise<number> => {
  const like = `name LIKE 'delay-queue %'`;
  return (await manager!.query(`SELECT FROM pg_prepared_statements WHERE ${like}`)).length;
};

function oneSession(): ActingNode {
  const acting = new ActingNode({ poolMax: 2 });
  let held: QueryRunner;
  beforeAll(async () => {
    await acting.sql(EFFECT_TABLE);
    // All transactional attempts run on the session that is left.
    held = acting.dataSource.createQueryRunner();
    await held.connect();
    // Until the engine has prepared something there.
    while ((await acting.fire('transactional', prepared)).answer === 0);
  });

  afterAll(() => held.release());

  return acting;
}

describe('between calls', () => {
  const acting = oneSession();

  it('nothing is lost, not even an attempt', async () => {
    await acting.dataSource.query('DISCARD ALL');
    const { end } = await acting.fire('transactional', ({ manager }) =>
      manager!.query(INSERT, [1]),
    );
    expect(end).toMatchObject({ event: 'completed', attempt: 1 });
  });
});

describe('within a call', () => {
  const acting = oneSession();

  it('that attempt fails, and the next one works', async () => {
    const { end } = await acting.fire('transactional', async ({ manager }, { attempt }) => {
      if (attempt === 1) await manager!.query('DEALLOCATE ALL');
      await manager!.query(INSERT, [2]);
    });
    expect(end).toMatchObject({ event: 'retrying', attempt: 1 });
    await until(
      () => acting.ends.filter(({ id, event }) => id === end.id && event === 'completed'),
      ([completed]) => completed?.attempt === 2,
    );
    expect(await acting.sql('SELECT n FROM effect WHERE n = 2')).toEqual([{ n: 2 }]);
  });
});
