import { beforeAll, describe, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { fencedBatchHandler, fencedHandler, signal } from '../../support/delay-node.js';
import { OneNode } from '../../support/one-node.js';

/**
 * A caller holds the row of a delay that runs, as one does that waited behind its claim, and then wants
 * the order that the handler has changed.
 */
let inserts = 0;
let changed = signal();
let goOn = signal();

const close = async ({ manager }: { manager: EntityManager }): Promise<void> => {
  await manager.query(
    `UPDATE purchase SET closes = closes + 1, status = 'closed' WHERE status = 'open'`,
  );
  changed.resolve();
  await goOn.promise;
};

const node = new OneNode({
  providers: [
    fencedHandler('test.one', (_, ctx) => close(ctx), { maxAttempts: 1 }),
    fencedHandler('test.deferred', async (_, { manager }) => {
      inserts += 1;
      await manager.query('INSERT INTO child VALUES (1)');
    }),
    fencedBatchHandler('test.many', (_, ctx) => close(ctx), { batch: 5, maxAttempts: 1 }),
  ],
});

beforeAll(() => node.sql('CREATE TABLE purchase (status text, closes int)'));

const HOW = {
  one: ['test.one', {}],
  'a batch': ['test.many', {}],
  'a recurring delay': ['test.one', { repeat: { every: '1h' } }],
} as const;

describe.each(Object.keys(HOW) as (keyof typeof HOW)[])('an attempt of %s', (which) => {
  it('gives way to the caller, spends no attempt, and does its work behind him', async () => {
    [changed, goOn] = [signal(), signal()];
    await node.sql('TRUNCATE purchase');
    await node.sql(`INSERT INTO purchase VALUES ('open', 0)`);
    const [name, how] = HOW[which];
    const keys = which === 'a batch' ? ['k', 'l'] : ['k'];
    const completed = keys.map((each) => node.next('completed', ({ key }) => key === each));
    await node.delays.scheduleMany(
      keys.map((key) => ({ name, payload: null, after: 0, key, ...how })),
    );
    await changed.promise;
    const caller = await node.begin();
    await caller.manager.query(`SELECT FROM delay_queue.delay WHERE key = 'k' FOR UPDATE`);
    const paid = caller.manager.query(`UPDATE purchase SET status = 'paid' WHERE status = 'open'`);
    goOn.resolve();
    // Not refused as the victim of a deadlock.
    await paid;
    await caller.commit();
    for (const event of await Promise.all(completed)) {
      expect(event).toMatchObject({ name, attempt: 1 });
    }
    expect(await node.sql('SELECT status, closes FROM purchase')).toEqual([
      { status: 'paid', closes: 0 },
    ]);
    if (which === 'a recurring delay') await node.delays.cancel(name, 'k');
  });
});

it('a deferred constraint of the application waits at COMMIT as long as it always did', async () => {
  await node.sql('CREATE TABLE parent (id int PRIMARY KEY)');
  await node.sql('INSERT INTO parent VALUES (1)');
  await node.sql('CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)');
  const holder = await node.begin();
  await holder.manager.query('SELECT FROM parent FOR UPDATE');
  const completed = node.next('completed');
  await node.delays.schedule('test.deferred', null, { after: 0, key: 'k' });
  await holder.blocksSomebody();
  await node.sql('SELECT pg_sleep(0.1)');
  await holder.rollback();
  expect(await completed).toMatchObject({ attempt: 1 });
  expect(inserts).toBe(1);
});
