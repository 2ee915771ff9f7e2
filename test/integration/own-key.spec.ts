import { beforeAll, describe, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { type ActingContext, ActingNode, KEY, type Kind, NAMES } from '../support/acting-node.js';
import { plainHandler, signal } from '../support/delay-node.js';
import type { Json } from '../support/delay-payloads.js';

/** A delay that recurs each second raises its epoch twice a second: in 70 years to 4.4 thousand million. */
const EPOCH = 70 * 366 * 86_400 * 2;

const acting = new ActingNode();

beforeAll(() => acting.sql(`ALTER TABLE delay_queue.delay ALTER epoch SET DEFAULT ${EPOCH}`));

/** The row as the table has it. */
async function row(): Promise<Record<string, unknown> | undefined> {
  const rows = await acting.sql(
    `SELECT id::text, (epoch - ${EPOCH})::int AS raised, attempts, payload, leased_by, max_attempts,
            due_at, wake_at
     FROM delay_queue.delay`,
  );
  expect(rows.length).toBeLessThan(2);
  return rows[0];
}

/** How the handler may say where its writes belong. */
const WAYS: [kind: Kind, managerOf: (ctx: ActingContext) => EntityManager | undefined][] = [
  ['plain', () => undefined],
  ['transactional', (ctx) => ctx.manager],
];

describe.each(WAYS)('a %s handler', (kind, managerOf) => {
  const NAME = NAMES[kind];

  const schedule = (payload: Json, ctx: ActingContext, maxAttempts?: number) => {
    const options = { after: '1h', key: KEY, maxAttempts, manager: managerOf(ctx) } as const;
    return acting.delays.schedule(NAME, payload, options);
  };

  const cancel = (ctx: ActingContext) =>
    acting.delays.cancel(NAME, KEY, { manager: managerOf(ctx) });

  it('that schedules its own key moves its row on, and its attempt is superseded', async () => {
    const { end, answer } = await acting.fire(kind, (ctx) => schedule({ round: 2 }, ctx));
    expect(answer.verdict).toBe('scheduled');
    // Once by the claim, once by the move.
    expect(await row()).toEqual({
      id: answer.id,
      raised: 2,
      attempts: 0,
      payload: { round: 2 },
      leased_by: null,
      // As it was.
      max_attempts: 10,
      due_at: answer.dueAt,
      wake_at: answer.dueAt,
    });
    expect(end.event).toBe('superseded');
    const history = await acting.delays.history(NAME, KEY);
    expect(history).toMatchObject([{ id: answer.id, state: 'superseded', attempts: 1 }]);
    expect(history[0]?.latenessMs).toBeGreaterThanOrEqual(0);
    expect(history[0]?.node).not.toBeNull();
  });

  it('that reschedules its own key keeps the payload', async () => {
    const { end, answer } = await acting.fire(kind, async (ctx) => {
      const { dueAt } = (await acting.delays.find(NAME, KEY)) ?? {};
      const options = { manager: managerOf(ctx) };
      const moved = await acting.delays.reschedule(NAME, KEY, { extendBy: '1h' }, options);
      return { moved: moved as { verdict: string; dueAt: Date }, dueAt };
    });
    expect(answer.moved.verdict).toBe('rescheduled');
    expect(answer.moved.dueAt.getTime() - answer.dueAt!.getTime()).toBe(3_600_000);
    expect(await row()).toMatchObject({ raised: 2, payload: 'first', due_at: answer.moved.dueAt });
    expect(end.event).toBe('superseded');
    expect(await acting.states(kind)).toEqual(['superseded']);
  });

  it('that cancels its own key hears `running`, and may still schedule it', async () => {
    const cancelled = await acting.fire(kind, cancel);
    expect(cancelled.answer).toMatchObject({ verdict: 'running' });
    expect(cancelled.end.event).toBe('completed');
    expect(await row()).toBeUndefined();
    const again = await acting.fire(kind, async (ctx) => {
      await cancel(ctx);
      return schedule('again', ctx);
    });
    expect(again.answer).toMatchObject({ verdict: 'scheduled' });
    expect(again.end.event).toBe('superseded');
    expect(await row()).toMatchObject({ raised: 2, payload: 'again' });
  });

  it.each([
    [
      'schedules its own key twice: the last word counts',
      'replaced',
      expect.objectContaining({ raised: 3, payload: 'third', max_attempts: 5 }),
      ['superseded'],
    ],
    [
      'schedules its own key and cancels it: no row',
      'cancelled',
      undefined,
      ['cancelled', 'superseded'],
    ],
  ])('that %s', async (_, verdict, left, states) => {
    const { end, answer } = await acting.fire(kind, async (ctx) => [
      await schedule('second', ctx),
      await (verdict === 'cancelled' ? cancel(ctx) : schedule('third', ctx, 5)),
    ]);
    expect(answer.map((one) => one.verdict)).toEqual(['scheduled', verdict]);
    expect(await row()).toEqual(left);
    expect(end.event).toBe('superseded');
    expect(await acting.states(kind)).toEqual(states);
  });

  it('that schedules its own key among many gets the results in order', async () => {
    const { end, answer } = await acting.fire(kind, (ctx) =>
      acting.delays.scheduleMany(
        [
          { name: 'test.z', payload: 1, after: '1h', key: 'z' },
          { name: NAME, payload: 'many', after: '2h', key: KEY },
          { name: 'test.a', payload: { n: 3 }, after: '3h' },
        ],
        { manager: managerOf(ctx) },
      ),
    );
    expect(answer.map(({ verdict }) => verdict)).toEqual(Array(3).fill('scheduled'));
    const rows = await acting.sql('SELECT id::text FROM delay_queue.delay ORDER BY due_at');
    expect(rows.map(({ id }) => id)).toEqual(answer.map(({ id }) => id));
    expect(end.event).toBe('superseded');
  });

  it('that recurs is one row in history, and has all its attempts in every round', async () => {
    const runs: unknown[] = [];
    const done = signal();
    const { id } = (
      await acting.fire(
        kind,
        async (ctx, { payload, attempt }) => {
          runs.push([payload, attempt]);
          if (attempt < 2) throw new Error('not yet');
          if (payload === 'third') return done.resolve();
          const next = payload === 'first' ? 'second' : 'third';
          const options = { after: 20, key: KEY, manager: managerOf(ctx) };
          await acting.delays.schedule(NAME, next, options);
        },
        { maxAttempts: 2 },
      )
    ).end;
    await done.promise;
    await acting.until('SELECT id FROM delay_queue.delay', ({ length }) => length === 0);
    const rounds = ['first', 'second', 'third'];
    expect(runs).toEqual(rounds.flatMap((round) => [1, 2].map((attempt) => [round, attempt])));
    const superseded = { id, state: 'superseded', attempts: 2, error: 'Error: not yet' };
    const completed = { id, state: 'completed', attempts: 2 };
    const history = await acting.delays.history(NAME, KEY);
    expect(history).toMatchObject([completed, superseded, superseded]);
  });
});

describe('a plain attempt', () => {
  it('that fails after it has moved on is not tried again out of turn', async () => {
    const runs: unknown[] = [];
    const done = signal();
    await acting.fire('plain', async (_ctx, { payload }) => {
      runs.push(payload);
      if (payload === 'moved') return done.resolve();
      await acting.delays.schedule(NAMES.plain, 'moved', { after: 100, key: KEY });
      throw new Error('after the move');
    });
    await done.promise;
    expect(runs).toEqual(['first', 'moved']);
  });

  it('that ends in the same moment as its successor is superseded', async () => {
    const secondStarted = signal();
    const { end } = await acting.fire('plain', async (_ctx, { payload }) => {
      if (payload === 'second') return secondStarted.resolve();
      await acting.delays.schedule(NAMES.plain, 'second', { after: 0, key: KEY });
      await secondStarted.promise;
    });
    await acting.until('SELECT id FROM delay_queue.delay', ({ length }) => length === 0);
    expect(['superseded', 'completed']).toContain(end.event);
    expect((await acting.states('plain')).toSorted()).toEqual(['completed', 'superseded']);
  });

  it('that outlives its timeout does not end its successor in its place', async () => {
    const timedOut = signal<unknown>();
    const run = plainHandler(
      'test.timeout',
      async ({ payload }, ctx) => {
        // Before it waits for anything: its time may be over by then.
        ctx.signal.addEventListener('abort', () => timedOut.resolve(payload));
        const options = { after: 100, key: KEY };
        if (payload === 1) await acting.delays.schedule('test.timeout', 2, options);
        await timedOut.promise;
      },
      { timeout: 400 },
    );
    await acting.start({ providers: [run] });
    await acting.delays.schedule('test.timeout', 1, { after: 0, key: KEY });
    expect(await timedOut.promise).toBe(1);
  });
});
