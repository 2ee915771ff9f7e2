import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayWorker, OnDelay, RepeatDelay } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { QueryFailedError } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, startNode } from '../support/delay-node.js';

const FAR = { after: '1h' } as const;

let database: TestDatabase;
let client: Client;
let node: DelayNode;

beforeEach(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  node = await startNode({ url: database.url });
});

afterEach(async () => {
  await node.stop();
  await client.end();
  await database.drop();
});

/** As a switch to a replica leaves it, while nodes run: so many ids are taken, and the next is 1. */
const beginAgain = (taken: number): Promise<unknown> =>
  client.query(`INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
    SELECT 'test.old', '1', '2999-01-01', '2999-01-01', now() FROM generate_series(1, ${taken});
    ALTER SEQUENCE delay_queue.delay_id_seq RESTART`);

const items = [1, 2].map((n) => ({ name: 'test.a', payload: { n }, ...FAR }) as const);
const keyed = items.map((item) => ({ ...item, key: `many ${item.payload.n}` }));

/** Each way in which a delay comes to its table. */
const WAYS: Record<string, () => Promise<unknown>> = {
  keyed: () => node.delays.schedule('test.a', { n: 1 }, { ...FAR, key: 'k' }),
  keyless: () => node.delays.schedule('test.a', { n: 1 }, FAR),
  recurring: () => node.delays.schedule('test.a', { n: 1 }, { key: 'r', repeat: { every: '1h' } }),
  list: () => node.delays.scheduleMany(items),
  'keyed list': () => node.delays.scheduleMany(keyed),
  'in a transaction': () =>
    node.dataSource.transaction((manager) =>
      node.delays.schedule('test.a', { n: 1 }, { ...FAR, key: 't', manager }),
    ),
  'keyed with a say, in a transaction': () =>
    node.dataSource.transaction((manager) =>
      node.delays.schedule('test.a', { n: 1 }, { ...FAR, key: 's', onConflict: 'keep', manager }),
    ),
  'list in a transaction': () =>
    node.dataSource.transaction((manager) => node.delays.scheduleMany(keyed, { manager })),
};

async function refusals(): Promise<Record<string, unknown>> {
  const ways = Object.entries(WAYS).map(async ([way, call]): Promise<[string, unknown]> => [
    way,
    await call().catch((error: unknown) => error),
  ]);
  return Object.fromEntries(await Promise.all(ways));
}

const eachWay = (expected: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.keys(WAYS).map((way) => [way, expected]));

const config = (cause: string, words: string): unknown =>
  expect.objectContaining({
    code: 'DELAY_CONFIG',
    message: expect.stringContaining(words),
    cause: expect.objectContaining({ code: cause }),
  });

describe('what has changed in the database since the start', () => {
  it('ids that begin again are told with what mends them, by all ways', async () => {
    await beginAgain(500);
    const told = await refusals();
    expect(told).toEqual(eachWay(config('23505', 'SELECT setval(')));
    await client.query(/SELECT setval.*\)\)\)/.exec(String(told['keyed']))![0]);
    for (const result of Object.values(await refusals())) expect(result).not.toBeInstanceOf(Error);
  });

  it('one id that is taken harms none of those that travel together', async () => {
    await beginAgain(1);
    const calls = [...Array(6).keys()].map((n) => node.delays.schedule('test.a', { n }, FAR));
    for (const { verdict } of await Promise.all(calls)) expect(verdict).toBe('scheduled');
  });

  it.each([
    ['a table', 'ALTER TABLE delay_queue.delay RENAME TO old', '42P01'],
    ['a column', 'ALTER TABLE delay_queue.delay RENAME max_attempts TO old', '42703'],
    ['the identity', 'ALTER TABLE delay_queue.delay ALTER id DROP IDENTITY', '23502'],
  ])('%s that is missing is told with what mends it, by all ways', async (_, statement, code) => {
    await client.query(statement);
    expect(await refusals()).toEqual(eachWay(config(code, '...delayQueueMigrations()')));
  });

  it('so is a function, by the way that calls it', async () => {
    await client.query('DROP FUNCTION delay_queue.schedule_one');
    expect(await refusals()).toMatchObject({
      'in a transaction': config('42883', '...delayQueueMigrations()'),
      keyed: { verdict: 'scheduled' },
    });
  });

  it('so is what reads, and what changes lists and pauses', async () => {
    await client.query('DROP TABLE delay_queue.pause; ALTER TABLE delay_queue.delay RENAME TO old');
    const { delays, admin } = node;
    const calls = [
      delays.find('test.a', 'k'),
      delays.cancel('test.a', 'k'),
      delays.cancelMany([{ name: 'test.a', key: 'k' }]),
      delays.reschedule('test.a', 'k', FAR),
      admin.count({}),
      admin.stats(),
      admin.pause('test.a'),
      admin.cancel({ name: 'test.a' }),
    ];
    for (const { status, reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[]) {
      expect({ status, reason: reason as unknown }).toEqual({
        status: 'rejected',
        reason: config('42P01', '...delayQueueMigrations()'),
      });
    }
  });

  it('what a trigger of the application misses is its own', async () => {
    await client.query(`CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO audited VALUES (1); RETURN NEW; END $$;
      CREATE TRIGGER audit BEFORE INSERT ON delay_queue.delay FOR EACH ROW EXECUTE FUNCTION audit()`);
    const raw = await refusals();
    expect(raw).toMatchObject(eachWay({ code: '42P01' }));
    for (const error of Object.values(raw)) expect(error).toBeInstanceOf(QueryFailedError);
  });
});

it('what recurs and finds its id taken is told in the trouble of its declaration', async () => {
  class Hourly {
    @OnDelay('test.hourly')
    @RepeatDelay('test.hourly', { every: '1h', payload: null })
    run(): void {}
  }
  const started = await startNode({
    url: database.url,
    providers: [Hourly],
    options: { autorun: false },
  });
  await beginAgain(500);
  const trouble = started.next('taskFailed', ({ task }) => task === 'declare');
  const run = started.app.get(DelayWorker).run();
  expect((await trouble).error).toEqual(config('23505', 'SELECT setval('));
  await run;
  await started.stop();
});
