import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { caller, COMMIT, MAY_DEADLOCK, node } from './support/actor.js';
import { type Act, cancel, complete, scheduleMany } from './support/acts.js';
import { merges } from './support/merges.js';
import { HOLDER, type Scenario, Stage, type State } from './support/stage.js';

/** An act as the library must never do it. */
const wrong = (verdict: string, sql?: string): Act => ({
  name: 'wrong',
  steps: 1,
  slots: ['a'],
  run: async ({ manager, keyOf }) => {
    if (sql) await manager.query(sql, [keyOf('a')]);
    return [verdict];
  },
});

const DELETE = 'DELETE FROM delay_queue.delay WHERE key = $1';
const LIFT = `UPDATE delay_queue.delay SET leased_until = NULL, leased_by = NULL, attempts = 0`;
const WAIT = 'SELECT id FROM delay_queue.delay WHERE key = $1 FOR UPDATE';

/** What a caller may do with rows of ours by himself: he waits for them in Postgres. */
const lock = (slot: string): Act => ({
  name: 'lock',
  steps: 1,
  slots: [slot],
  run: async ({ manager, keyOf }) => {
    await manager.query(WAIT, [keyOf(slot)]);
    return undefined;
  },
});

describe('merges', () => {
  it.each([
    { steps: [3], orders: 1 },
    { steps: [2, 2], orders: 6 },
    { steps: [3, 2], orders: 10 },
    { steps: [2, 2, 2], orders: 90 },
    { steps: [3, 2, 2], orders: 210 },
    { steps: [0, 4, 0], orders: 1 },
  ])('of $steps are $orders, all of them different', ({ steps, orders }) => {
    const all = [...merges(steps)];
    expect(new Set(all.map(String)).size).toBe(orders);
    expect(all).toHaveLength(orders);
    for (const order of all) {
      expect(steps.map((_, turn) => order.filter((other) => other === turn).length)).toEqual(steps);
    }
  });
});

describe('the stage', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open();
  });

  afterAll(() => stage.close());

  it('lets Postgres break a deadlock, and hears of it', async () => {
    const scenario: Scenario = {
      before: { a: 'due', b: 'due' },
      actors: [
        caller('shop', scheduleMany('a', 'b'), MAY_DEADLOCK),
        caller('payer', [lock('b'), lock('a')], MAY_DEADLOCK),
      ],
    };
    const { interleavings, outcomes } = await stage.explore(scenario);
    expect(interleavings).toBe(20);
    const deadlocks = outcomes.filter((outcome) => outcome.includes('40P01'));
    expect(outcomes.filter((outcome) => !deadlocks.includes(outcome))).toEqual([
      'shop replaced replaced: due and due',
    ]);
    // Who of the two is refused depends on who has waited for longer.
    expect(deadlocks.length).toBeGreaterThan(0);
    for (const deadlock of deadlocks) {
      expect([
        'shop 40P01: due and due',
        'shop replaced replaced, payer 40P01: due and due',
      ]).toContain(deadlock);
    }
  });

  it.each<[fault: RegExp, before: State, act: Act]>([
    [/wrote 0 times and says so 1 times/, 'due', wrong('cancelled')],
    [/wrote 1 times and says so 0 times/, 'due', wrong('absent', DELETE)],
    [/payer's wrong \(cancelled\) was not free to/, 'running', wrong('cancelled', DELETE)],
    [/payer's wrong \(rescheduled\) wrote/, 'due', wrong('rescheduled', DELETE)],
    [/history says \[\] and not \[a\/\d+ cancelled\]/, 'due', wrong('cancelled', DELETE)],
    [
      /was not free to/,
      'running',
      wrong('rescheduled', `${LIFT}, epoch = epoch + 1 WHERE key = $1`),
    ],
    [/nothing bears out payer's wrong \(running\)/, 'due', wrong('running')],
    [/nothing bears out payer's wrong \(kept\)/, 'running', wrong('kept')],
    [/payer's wrong \(running\) waited for a leased row/, 'running', wrong('running', WAIT)],
  ])('finds the fault %s', async (fault, before, act) => {
    const holder = node(HOLDER, complete(), COMMIT);
    const actors = [caller('payer', act, COMMIT), holder];
    await expect(stage.explore({ before, actors })).rejects.toThrow(fault);
  });

  it('finds a batch that waits, and says in which order it did', async () => {
    const waiting = node('first', { ...wrong('missed', WAIT), name: 'claim' });
    const actors = [caller('payer', cancel(), COMMIT), waiting];
    await expect(stage.explore({ before: 'due', actors })).rejects.toThrow(
      /first's claim \(missed\) waited\n(.*\n)*order: payer first payer/,
    );
  });
});
