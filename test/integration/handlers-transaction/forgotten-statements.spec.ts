import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { EntityManager, QueryRunner } from 'typeorm';
import { type ActingContext, ActingNode } from '../../support/acting-node.js';
import { until } from '../../support/until.js';
import { EFFECT_TABLE, INSERT } from './ways.js';

/**
 * What the engine prepares on the application's sessions, the application may make the server forget; the client
 * goes on believing that it is there.
 */
let acting: ActingNode;
/** So that all transactional attempts run on the one session that is left. */
let held: QueryRunner;

const prepared = (manager: EntityManager): Promise<unknown[]> =>
  manager.query(`SELECT FROM pg_prepared_statements WHERE name LIKE 'delay-queue %'`);

beforeEach(async () => {
  acting = await ActingNode.start({ poolMax: 2 });
  await acting.stage.sql(EFFECT_TABLE);
  held = acting.dataSource.createQueryRunner();
  await held.connect();
  // Until the engine has prepared something there.
  for (let statements = 0; statements === 0;) {
    const counts = async ({ manager }: ActingContext) => (await prepared(manager!)).length;
    statements = (await acting.fire('transactional', counts)).answer;
  }
});

afterEach(async () => {
  await held.release();
  await acting.stop();
});

it('between calls: nothing is lost, not even an attempt', async () => {
  await acting.dataSource.query('DISCARD ALL');
  const { end } = await acting.fire('transactional', ({ manager }) => manager!.query(INSERT, [1]));
  expect(end).toMatchObject({ event: 'completed', attempt: 1 });
});

it('within a call: that attempt fails, and the next one works', async () => {
  const { end } = await acting.fire('transactional', async ({ manager }, { attempt }) => {
    if (attempt === 1) await manager!.query('DEALLOCATE ALL');
    await manager!.query(INSERT, [2]);
  });
  expect(end).toMatchObject({ event: 'retrying', attempt: 1 });
  await until(
    () => acting.ends.filter(({ id, event }) => id === end.id && event === 'completed'),
    ([completed]) => completed?.attempt === 2,
  );
  expect(await acting.stage.sql('SELECT n FROM effect WHERE n = 2')).toEqual([{ n: 2 }]);
});
