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
import type { Json } from '../support/delay-payloads.js';

const NAME = 'test.own';
const KEY = 'k';

let database: TestDatabase;
let node: DelayNode;
/** Ends of attempts, in the order of their events. */
let ends: string[];

beforeEach(async () => {
  database = await createTestDatabase();
  ends = [];
});

afterEach(async () => {
  await node?.stop();
  await database.drop();
});

type Work = (ctx: DelayContext & { manager?: EntityManager }) => Promise<unknown>;

/** A handler whose first run does `work`; later runs do nothing. Answers what `work` answered. */
async function runOnce(kind: 'plain' | 'transactional', work: Work): Promise<unknown> {
  const answered = signal<unknown>();
  const run = async (
    delay: { payload: Json },
    ctx: DelayContext | TransactionalDelayContext,
  ): Promise<void> => {
    if (delay.payload !== 'first') return;
    try {
      answered.resolve(await work(ctx));
    } catch (error) {
      answered.reject(error);
      throw error;
    }
  };
  const handler = kind === 'plain' ? plainHandler(NAME, run) : fencedHandler(NAME, run);
  node = await startNode({ url: database.url, providers: [handler] });
  for (const event of ['completed', 'superseded', 'lost', 'retrying'] as const) {
    node.events.on(event, () => void ends.push(event));
  }
  const ended = new Promise((resolve) => {
    for (const event of ['completed', 'superseded', 'lost', 'retrying'] as const) {
      node.events.once(event, resolve);
    }
  });
  await node.delays.schedule(NAME, 'first', { after: 0, key: KEY });
  const answer = await answered.promise;
  await ended;
  return answer;
}

/** The row as the table has it. */
async function row(): Promise<Record<string, unknown> | undefined> {
  const rows: Record<string, unknown>[] = await node.dataSource.query(
    `SELECT id::text, epoch::int, attempts, payload, leased_by, max_attempts, due_at, wake_at
     FROM delay_queue.delay`,
  );
  expect(rows.length).toBeLessThan(2);
  return rows[0];
}

const schedule = (payload: Json, manager?: EntityManager) =>
  node.delays.schedule(NAME, payload, { after: '1h', key: KEY, manager });

/** How the handler may say where its writes belong. */
const WAYS = [
  { kind: 'plain', way: 'without a manager', managerOf: () => undefined },
  { kind: 'transactional', way: 'with its own manager', managerOf: (ctx) => ctx.manager },
] satisfies {
  kind: 'plain' | 'transactional';
  way: string;
  managerOf: (ctx: { manager?: EntityManager }) => EntityManager | undefined;
}[];

describe.each(WAYS)('a $kind handler, $way,', ({ kind, managerOf }) => {
  it('that schedules its own key moves its row on, and its attempt is superseded', async () => {
    const result = (await runOnce(kind, (ctx) => schedule({ round: 2 }, managerOf(ctx)))) as {
      verdict: string;
      id: string;
      dueAt: Date;
    };
    expect(result.verdict).toBe('scheduled');
    // Scheduled: 0, claimed: 1, moved on: 2.
    expect(await row()).toEqual({
      id: result.id,
      epoch: 2,
      attempts: 0,
      payload: { round: 2 },
      leased_by: null,
      max_attempts: null,
      due_at: result.dueAt,
      wake_at: result.dueAt,
    });
    expect(ends).toEqual(['superseded']);
    const history = await node.delays.history(NAME, KEY);
    expect(history).toMatchObject([{ id: result.id, state: 'superseded', attempts: 1 }]);
    expect(history[0]?.latenessMs).toBeGreaterThanOrEqual(0);
    expect(history[0]?.node).not.toBeNull();
  });

  it('that reschedules its own key keeps the payload', async () => {
    const result = (await runOnce(kind, async (ctx) => {
      const { dueAt } = (await node.delays.find(NAME, KEY)) ?? {};
      const options = { manager: managerOf(ctx) };
      const moved = await node.delays.reschedule(NAME, KEY, { extendBy: '1h' }, options);
      return { moved, dueAt };
    })) as { moved: { verdict: string; dueAt: Date }; dueAt: Date };
    expect(result.moved.verdict).toBe('rescheduled');
    expect(result.moved.dueAt.getTime() - result.dueAt.getTime()).toBe(3_600_000);
    expect(await row()).toMatchObject({
      epoch: 2,
      attempts: 0,
      payload: 'first',
      due_at: result.moved.dueAt,
    });
    expect(ends).toEqual(['superseded']);
    expect(await node.delays.history(NAME, KEY)).toMatchObject([{ state: 'superseded' }]);
  });

  it('that cancels its own key hears `running` and completes', async () => {
    const answer = await runOnce(kind, (ctx) =>
      node.delays.cancel(NAME, KEY, { manager: managerOf(ctx) }),
    );
    expect(answer).toMatchObject({ verdict: 'running' });
    expect(await row()).toBeUndefined();
    expect(ends).toEqual(['completed']);
    expect(await node.delays.history(NAME, KEY)).toMatchObject([{ state: 'completed' }]);
  });

  it('that cancels and then schedules its own key moves it on', async () => {
    const answer = await runOnce(kind, async (ctx) => {
      await node.delays.cancel(NAME, KEY, { manager: managerOf(ctx) });
      return schedule('again', managerOf(ctx));
    });
    expect(answer).toMatchObject({ verdict: 'scheduled' });
    expect(await row()).toMatchObject({ epoch: 2, payload: 'again' });
    expect(ends).toEqual(['superseded']);
  });

  it('that schedules its own key twice: the last word counts, and there is one row', async () => {
    const answer = (await runOnce(kind, async (ctx) => [
      await schedule('second', managerOf(ctx)),
      await schedule('third', managerOf(ctx)),
    ])) as { verdict: string; id: string }[];
    expect(answer.map(({ verdict }) => verdict)).toEqual(['scheduled', 'replaced']);
    expect(answer[0]?.id).toBe(answer[1]?.id);
    expect(await row()).toMatchObject({ epoch: 3, attempts: 0, payload: 'third' });
    expect(ends).toEqual(['superseded']);
    expect(await node.delays.history(NAME, KEY)).toMatchObject([{ state: 'superseded' }]);
  });

  it('that schedules its own key and then cancels it ends without a row', async () => {
    const answer = await runOnce(kind, async (ctx) => {
      await schedule('second', managerOf(ctx));
      return node.delays.cancel(NAME, KEY, { manager: managerOf(ctx) });
    });
    expect(answer).toMatchObject({ verdict: 'cancelled' });
    expect(await row()).toBeUndefined();
    expect(ends).toEqual(['superseded']);
    const states = (await node.delays.history(NAME, KEY)).map(({ state }) => state);
    expect(states).toEqual(['cancelled', 'superseded']);
  });

  it('that schedules its own key among many gets the results in order', async () => {
    const answer = (await runOnce(kind, (ctx) =>
      node.delays.scheduleMany(
        [
          { name: 'test.z', payload: 1, after: '1h', key: 'z' },
          { name: NAME, payload: 'many', after: '2h', key: KEY },
          { name: 'test.a', payload: { n: 3 }, after: '3h' },
        ],
        { manager: managerOf(ctx) },
      ),
    )) as { verdict: string; id: string }[];
    expect(answer.map(({ verdict }) => verdict)).toEqual(Array(3).fill('scheduled'));
    const rows: { id: string; name: string; epoch: number }[] = await node.dataSource.query(
      'SELECT id::text, name, epoch::int FROM delay_queue.delay ORDER BY due_at',
    );
    expect(rows.map(({ id }) => id)).toEqual(answer.map(({ id }) => id));
    expect(rows.map(({ name, epoch }) => [name, epoch])).toEqual([
      ['test.z', 0],
      [NAME, 2],
      ['test.a', 0],
    ]);
    expect(ends).toEqual(['superseded']);
  });
});

it('what its maxAttempts were stays, unless the handler says otherwise', async () => {
  const rounds = signal();
  const seen: number[] = [];
  const handler = plainHandler(NAME, async (delay) => {
    seen.push(delay.maxAttempts);
    if (seen.length === 3) return rounds.resolve();
    const maxAttempts = seen.length === 2 ? 5 : undefined;
    await node.delays.schedule(NAME, null, { after: 0, key: KEY, maxAttempts });
  });
  node = await startNode({ url: database.url, providers: [handler] });
  await node.delays.schedule(NAME, null, { after: 0, key: KEY, maxAttempts: 2 });
  await rounds.promise;
  expect(seen).toEqual([2, 2, 5]);
});
