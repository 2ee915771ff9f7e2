import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayContext, TransactionalDelayContext } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  type DelayNode,
  fencedHandler,
  plainHandler,
  signal,
  startNode,
} from '../support/delay-node.js';

const NAME = 'test.own';
const KEY = 'k';
const ROUNDS = 6;

let database: TestDatabase;
let node: DelayNode;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await node?.stop();
  await database.drop();
});

const schedule = (round: number, manager?: EntityManager) =>
  node.delays.schedule(NAME, round, { after: 20, key: KEY, manager });

/** A transactional handler says that its own transaction is meant. */
const managerOf = (ctx: DelayContext): EntityManager | undefined =>
  (ctx as Partial<TransactionalDelayContext>).manager;

describe.each([
  ['plain', plainHandler],
  ['transactional', fencedHandler],
] as const)('recurring work in a %s handler', (_kind, handler) => {
  it('is one row that goes through all rounds, each told by history', async () => {
    const rounds: unknown[] = [];
    const failed: string[] = [];
    const run = handler(NAME, async ({ payload, attempt }, ctx) => {
      rounds.push([payload, attempt]);
      if (Number(payload) < ROUNDS) await schedule(Number(payload) + 1, managerOf(ctx));
    });
    node = await startNode({ url: database.url, providers: [run] });
    for (const event of ['lost', 'retrying', 'dead'] as const) {
      node.events.on(event, () => failed.push(event));
    }
    const completed = node.next('completed');
    const { id } = await schedule(1);
    await completed;
    expect(rounds).toEqual(Array.from({ length: ROUNDS }, (_, round) => [round + 1, 1]));
    expect(failed).toEqual([]);
    const history = await node.delays.history(NAME, KEY);
    expect(new Set(history.map((record) => record.id))).toEqual(new Set([id]));
    expect(history.map(({ state }) => state)).toEqual([
      'completed',
      ...Array<string>(ROUNDS - 1).fill('superseded'),
    ]);
    expect(await node.delays.find(NAME, KEY)).toBeNull();
  });

  it('gets all its attempts again in every round', async () => {
    const runs: unknown[] = [];
    const run = handler(
      NAME,
      async ({ payload, attempt }, ctx) => {
        runs.push([payload, attempt]);
        if (attempt < 2) throw new Error('not yet');
        if (Number(payload) < 3) await schedule(Number(payload) + 1, managerOf(ctx));
      },
      { maxAttempts: 2, backoff: () => 1 },
    );
    node = await startNode({ url: database.url, providers: [run] });
    const completed = node.next('completed');
    await schedule(1);
    await completed;
    expect(runs).toEqual([1, 2, 3].flatMap((round) => [1, 2].map((attempt) => [round, attempt])));
    const [last, ...before] = await node.delays.history(NAME, KEY);
    expect(last).toMatchObject({ state: 'completed', attempts: 2 });
    expect(before).toMatchObject([
      { state: 'superseded', attempts: 2, error: 'Error: not yet' },
      { state: 'superseded', attempts: 2, error: 'Error: not yet' },
    ]);
  });

  it('that fails after it has moved on is not tried again out of turn', async () => {
    const runs: unknown[] = [];
    const done = signal();
    const run = handler(NAME, async ({ payload }, ctx) => {
      runs.push(payload);
      if (payload === 'moved') return done.resolve();
      const options = { after: 100, key: KEY, manager: managerOf(ctx) };
      await node.delays.schedule(NAME, 'moved', options);
      if (runs.length === 1) throw new Error('after the move');
    });
    const options = { backoff: { base: 1, jitter: 0 } };
    node = await startNode({ url: database.url, providers: [run], options });
    await node.delays.schedule(NAME, 'first', { after: 0, key: KEY });
    await done.promise;
    // A transactional attempt takes its move back with everything else, and is tried again.
    const expected = handler === plainHandler ? ['first', 'moved'] : ['first', 'first', 'moved'];
    expect(runs).toEqual(expected);
  });
});

it('a plain attempt that ends in the same moment as its successor is superseded', async () => {
  const secondStarted = signal();
  const bothEnded = signal();
  const ends: string[] = [];
  const run = plainHandler(NAME, async ({ payload }) => {
    if (payload === 2) return secondStarted.resolve();
    await node.delays.schedule(NAME, 2, { after: 0, key: KEY });
    await secondStarted.promise;
  });
  node = await startNode({ url: database.url, providers: [run] });
  for (const event of ['completed', 'superseded', 'lost'] as const) {
    node.events.on(event, () => {
      if (ends.push(event) === 2) bothEnded.resolve();
    });
  }
  await node.delays.schedule(NAME, 1, { after: 0, key: KEY });
  await bothEnded.promise;
  expect(ends.toSorted()).toEqual(['completed', 'superseded']);
});

// Fails until the executor's timeouts tell two attempts of one delay apart.
it('an attempt that outlives its timeout does not end its successor in its place', async () => {
  const timedOut = signal<unknown>();
  const run = plainHandler(
    NAME,
    async ({ payload }, ctx) => {
      if (payload === 1) await node.delays.schedule(NAME, 2, { after: 100, key: KEY });
      ctx.signal.addEventListener('abort', () => timedOut.resolve(payload));
      await timedOut.promise;
    },
    { timeout: 400 },
  );
  node = await startNode({ url: database.url, providers: [run] });
  await node.delays.schedule(NAME, 1, { after: 0, key: KEY });
  expect(await timedOut.promise).toBe(1);
});
