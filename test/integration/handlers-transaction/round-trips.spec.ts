import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { type ActingContext, ActingNode, KEY, NAMES } from '../../support/acting-node.js';
import { attemptPoolOf } from '../../support/attempt-sessions.js';
import { clientTelling } from '../../support/sent-statements.js';
import { until } from '../../support/until.js';
import { INSERT } from './ways.js';

/** One attempt after the other: all are on one session of the pool. */
const acting = new ActingNode({
  Client: clientTelling((text, client) => {
    sent.set(client, [...(sent.get(client) ?? []), text]);
  }),
});

/** What was sent, by the session on which it was sent. */
const sent = new Map<Client, string[]>();

beforeAll(async () => {
  await acting.sql('CREATE TABLE effect (n int UNIQUE)');
  // That session has run the engine's statements by their names then.
  for (const _ of ['may be before names are used', 'with names']) {
    await acting.fire('transactional', () => {});
  }
});

beforeEach(() => sent.clear());

afterEach(() => acting.sql('TRUNCATE effect'));

const insert = ({ manager }: ActingContext): Promise<unknown> => manager!.query(INSERT, [1]);

const effects = (): Promise<unknown[]> => acting.sql('SELECT n FROM effect');

/** All that went over the session of the handler. */
const ofHandler = (): string[] =>
  [...sent.values()].find((texts) => texts.some((text) => text.includes(INSERT))) ?? [];

const ENDS = /^EXECUTE "delay-queue removeOne [0-9a-f]+" \('\d+', '\d+', '[\d.]+'\); COMMIT$/;

describe('a transactional attempt', () => {
  it('begins with the first statement of its handler, and adds one round trip', async () => {
    const { end } = await acting.fire('transactional', insert);
    expect(end.event).toBe('completed');
    expect(ofHandler()).toEqual([INSERT, expect.stringMatching(ENDS)]);
    expect(await effects()).toEqual([{ n: 1 }]);
    const history = await acting.sql('SELECT state FROM delay_queue.history WHERE id = $1', [
      end.id,
    ]);
    expect(history).toEqual([{ state: 'completed' }]);
  });

  it('commits nothing when its row is not there any more', async () => {
    const { end } = await acting.fire(
      'transactional',
      async (ctx) => {
        await insert(ctx);
        await ctx.manager!.query('DELETE FROM delay_queue.delay');
      },
      { maxAttempts: 1 },
    );
    expect(ofHandler().at(-2)).toMatch(ENDS);
    expect(ofHandler().at(-1)).toBe('ROLLBACK');
    expect(end).toMatchObject({
      event: 'dead',
      error: expect.stringMatching(/^DelayLeaseLostError/),
    });
    expect(await effects()).toEqual([]);
    await acting.delays.cancel(NAMES.transactional, KEY);
  });

  it('fails once on a session that has forgotten what was prepared, and works from then on', async () => {
    const session = await attemptPoolOf(acting).connect();
    await session.query('DISCARD ALL');
    session.release();
    const { end } = await acting.fire('transactional', () => {});
    expect(end).toMatchObject({ event: 'retrying', attempt: 1 });
    await until(
      () => acting.ends,
      (ends) => ends.some(({ event, attempt }) => event === 'completed' && attempt === 2),
    );
  });
});

const prepared = async ({ manager }: ActingContext): Promise<number> => {
  const like = `name LIKE 'delay-queue %'`;
  return (await manager!.query(`SELECT FROM pg_prepared_statements WHERE ${like}`)).length;
};

describe('a transactional attempt whose handler makes its session forget that', () => {
  const other = new ActingNode({ poolMax: 2 });

  it('fails, and the next one works', async () => {
    // All transactional attempts run on the session that is left.
    const held = other.dataSource.createQueryRunner();
    await held.connect();
    while ((await other.fire('transactional', prepared)).answer === 0);
    const { end } = await other.fire('transactional', async ({ manager }, { attempt }) => {
      if (attempt === 1) await manager!.query('DEALLOCATE ALL');
    });
    expect(end).toMatchObject({ event: 'retrying', attempt: 1 });
    await until(
      () => other.ends.filter(({ id, event }) => id === end.id && event === 'completed'),
      ([completed]) => completed?.attempt === 2,
    );
    await held.release();
  });
});
