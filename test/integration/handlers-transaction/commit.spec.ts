import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { EntitySubscriberInterface } from 'typeorm';
import { type DelayNode, fencedHandler } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { EFFECT_TABLE, INSERT } from './ways.js';

/** A COMMIT has worked when the server says COMMIT. */
let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
  await stage.sql(EFFECT_TABLE);
});

afterEach(() => stage.close());

/** A node that notes how attempts end, and whether what was to happen after the commit happened. */
async function start(
  subscriber: EntitySubscriberInterface,
  maxAttempts: number,
): Promise<{ node: DelayNode; told: string[] }> {
  const told: string[] = [];
  const node: DelayNode = await stage.start({
    providers: [
      fencedHandler(
        'test.fenced',
        async (_delay, { manager }) => {
          await manager.query(INSERT, [1]);
          await node.delays.schedule('test.other', null, { after: '1h', key: 'next', manager });
        },
        { maxAttempts },
      ),
    ],
  });
  node.dataSource.subscribers.push(subscriber, {
    afterTransactionCommit: () => void told.push('committed'),
    afterTransactionRollback: () => void told.push('rolled back'),
  });
  for (const event of ['completed', 'retrying', 'dead', 'lost'] as const) {
    node.events.on(event, () => told.push(event));
  }
  return { node, told };
}

/** The removal is done, and something of the application's fails before COMMIT. */
const breaks = (isBroken: () => boolean): EntitySubscriberInterface => ({
  async beforeTransactionCommit({ queryRunner }) {
    if (isBroken()) await queryRunner.query('SELECT 1 / 0').catch(() => {});
  },
});

it('what Postgres answers ROLLBACK to is no completed attempt', async () => {
  const { node, told } = await start(
    breaks(() => true),
    1,
  );
  const dead = node.next('dead');
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
  expect(await dead).toMatchObject({
    error: expect.stringMatching(/^DelayRolledBackError: Postgres answered ROLLBACK to COMMIT/),
  });
  expect(told).toEqual(['rolled back', 'dead']);
  expect(await stage.sql('SELECT n FROM effect')).toEqual([]);
  expect(await node.delays.find('test.other', 'next')).toBeNull();
});

it('the next attempt does it, once', async () => {
  let commits = 0;
  const { node, told } = await start(
    breaks(() => {
      commits += 1;
      return commits === 1;
    }),
    2,
  );
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
  expect(await completed).toMatchObject({ attempt: 2 });
  expect(told).toEqual(['rolled back', 'retrying', 'committed', 'completed']);
  expect(await stage.sql('SELECT n FROM effect')).toEqual([{ n: 1 }]);
  expect(await node.delays.find('test.other', 'next')).not.toBeNull();
});

it('what a subscriber writes at COMMIT is part of it', async () => {
  const { node } = await start(
    {
      async beforeTransactionCommit({ queryRunner }) {
        await queryRunner.query(INSERT, [2]);
        await queryRunner.manager.query(INSERT, [3]);
      },
    },
    1,
  );
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
  await completed;
  expect(await stage.sql('SELECT n FROM effect ORDER BY n')).toEqual([
    { n: 1 },
    { n: 2 },
    { n: 3 },
  ]);
});
