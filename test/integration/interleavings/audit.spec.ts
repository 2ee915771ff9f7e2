import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { caller, COMMIT, node } from './support/actor.js';
import { type Act, cancel, complete } from './support/acts.js';
import { Stage } from './support/stage.js';
import { HOLDER, type State } from './support/state.js';

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

describe('the audit', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open();
  });

  afterAll(() => stage.close());

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
