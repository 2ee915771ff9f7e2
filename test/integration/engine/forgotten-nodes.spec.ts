import { setImmediate as settled } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { clientRunner } from '../../support/other-node.js';
import { createPruners, Idle, NodeStore, type Pruner } from '../../support/engine-parts.js';
import { resolveOptions } from '../../support/option-checks.js';

/** More than one statement deletes. */
const KILLED = 5_500;

let database: TestDatabase;
let client: Client;
let store: NodeStore;
let pruners: Pruner[];

beforeEach(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  store = new NodeStore(clientRunner(client), 'delay_queue', 'self');
  pruners = [];
});

afterEach(async () => {
  await Promise.all(pruners.map((pruner) => pruner.stop()));
  jest.useRealTimers();
  await client.end();
  await database.drop();
});

const seen = (count: number, id: string, ago: string): Promise<unknown> =>
  client.query(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
     SELECT $2 || n, '{test.x}', true, seen_at, seen_at
     FROM generate_series(1, $1::int) n, LATERAL (SELECT now() - $3::interval AS seen_at) AS at`,
    [count, id, ago],
  );

const nodes = async (): Promise<string[]> =>
  (await client.query<{ id: string }>('SELECT id FROM delay_queue.node ORDER BY id')).rows.map(
    ({ id }) => id,
  );

it.each([
  ['with history', resolveOptions()],
  ['without history', resolveOptions({ history: false })],
])('%s, nodes of processes that were only ever killed go away', async (_, options) => {
  await seen(KILLED, 'killed ', '25 hours');
  await seen(1, 'killed today ', '23 hours');
  pruners = createPruners({
    nodeStore: store,
    options,
    events: new DelayEvents(),
    idle: new Idle(null),
  });
  const forget = jest.spyOn(store, 'forget');
  const forgot = async (): Promise<unknown[]> => {
    const { calls, results } = forget.mock;
    const ofNodes = results.filter((_result, index) => calls[index]?.[0] === 'node');
    const counts = await Promise.all(ofNodes.map(({ value }) => value));
    await settled();
    return counts;
  };
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  for (const pruner of pruners) pruner.start();
  // A node that lives for no more than a minute does its part, too.
  jest.advanceTimersByTime(60_000);
  expect(await forgot()).toEqual([5_000]);
  jest.advanceTimersByTime(200);
  expect(await forgot()).toEqual([5_000, 500]);
  expect(await nodes()).toEqual(['killed today 1']);
});

it('a node says goodbye for itself alone, and one that is locked holds up nobody', async () => {
  await seen(3, 'old ', '2 days');
  await seen(1, 'sel', '0 s');
  await client.query(`UPDATE delay_queue.node SET id = 'self' WHERE id = 'sel1'`);
  await store.leave();
  expect(await nodes()).toEqual(['old 1', 'old 2', 'old 3']);
  const other = new Client({ connectionString: database.url });
  await other.connect();
  try {
    await other.query(`BEGIN; SELECT FROM delay_queue.node WHERE id = 'old 2' FOR UPDATE`);
    expect(await store.forget('node', 86_400_000, 2)).toBe(2);
    expect(await nodes()).toEqual(['old 2']);
  } finally {
    await other.end();
  }
});
