import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, startNode } from '../support/delay-node.js';
import { OpenTransactions } from '../support/open-transactions.js';
import { act, ANSWERS, type Answers, type Verb, VERBS } from '../support/verbs.js';

/** What the transaction of the other caller does, and what its commit leaves behind. */
const OTHERS: Record<string, { verbs: Verb[]; committed: Answers }> = {
  cancels: { verbs: ['cancel'], committed: ANSWERS.nothing },
  reschedules: { verbs: ['reschedule'], committed: ANSWERS.waiting },
  replaces: { verbs: ['replace'], committed: ANSWERS.waiting },
  keeps: { verbs: ['keep'], committed: ANSWERS.waiting },
  'cancels and schedules again': { verbs: ['cancel', 'replace'], committed: ANSWERS.waiting },
  'cancels, schedules and cancels': {
    verbs: ['cancel', 'replace', 'cancel'],
    committed: ANSWERS.nothing,
  },
};

const CASES = Object.entries(OTHERS).flatMap(([what, { verbs, committed }]) =>
  VERBS.flatMap((verb) => [
    { what, verbs, verb, how: 'commit' as const, expected: committed[verb] },
    { what, verbs, verb, how: 'rollback' as const, expected: ANSWERS.waiting[verb] },
  ]),
);

let database: TestDatabase;
let node: DelayNode;
const transactions = new OpenTransactions();

beforeAll(async () => {
  database = await createTestDatabase();
  node = await startNode({ url: database.url });
});

afterEach(() => transactions.rollbackAll());

afterAll(async () => {
  await node.stop();
  await database.drop();
});

const schedule = (key: string, manager?: EntityManager) =>
  node.delays.schedule('test.a', { n: 1 }, { after: '1h', key, manager });

/** The live rows of a key, seen from outside. */
const rowsOf = async (key: string): Promise<number> => {
  const [row] = await node.dataSource.query(
    `SELECT count(*)::int AS rows FROM delay_queue.delay WHERE name = 'test.a' AND key = $1`,
    [key],
  );
  return row.rows;
};

describe.each(CASES)('$verb behind a caller who $what, then $how', (testCase) => {
  const { what, verbs, verb, how, expected } = testCase;

  it(`waits and answers ${expected}`, async () => {
    const key = `${what}/${verb}/${how}`;
    await schedule(key);
    const other = await transactions.begin(node.dataSource);
    for (const step of verbs) await act(node.delays, step, key, other.manager);
    const answer = act(node.delays, verb, key);
    await other.blocksSomebody();
    await other.end(how);
    expect(await answer).toMatchObject({ verdict: expected });
    expect(await rowsOf(key)).toBe(['cancelled', 'absent'].includes(expected) ? 0 : 1);
  });

  it(`does the same in a transaction, which can still be rolled back`, async () => {
    const key = `${what}/${verb}/${how}/in a transaction`;
    await schedule(key);
    const other = await transactions.begin(node.dataSource);
    for (const step of verbs) await act(node.delays, step, key, other.manager);
    const caller = await transactions.begin(node.dataSource);
    const answer = act(node.delays, verb, key, caller.manager);
    await other.isMet();
    await other.end(how);
    const left = await rowsOf(key);
    expect(await answer).toMatchObject({ verdict: expected });
    await caller.rollback();
    expect(await rowsOf(key)).toBe(left);
  });
});

describe('a key whose first delay is not committed', () => {
  it.each(['cancel', 'reschedule'] as const)('is absent for %s, at once', async (verb) => {
    const other = await transactions.begin(node.dataSource);
    await schedule(`new/${verb}`, other.manager);
    expect(await act(node.delays, verb, `new/${verb}`)).toEqual({ verdict: 'absent' });
    await other.commit();
    expect(await act(node.delays, verb, `new/${verb}`)).not.toEqual({ verdict: 'absent' });
  });

  it.each(['replace', 'keep', 'error'] as const)('makes %s wait for its commit', async (verb) => {
    for (const [how, expected] of [
      ['commit', ANSWERS.waiting[verb]],
      ['rollback', 'scheduled'],
    ] as const) {
      const key = `new/${verb}/${how}`;
      const other = await transactions.begin(node.dataSource);
      const { id } = await schedule(key, other.manager);
      const answer = act(node.delays, verb, key);
      await other.blocksSomebody();
      await other.end(how);
      expect(await answer).toMatchObject({ verdict: expected });
      expect(await rowsOf(key)).toBe(1);
      const { id: lives } = (await node.delays.find('test.a', key)) ?? {};
      expect(lives === id).toBe(how === 'commit');
    }
  });
});

describe('while others cancel and schedule the same key again in their transactions', () => {
  const ROUNDS = 60;
  const WRITERS = 3;

  it('no look ever finds it absent, and no schedule makes a second one', async () => {
    const key = 'busy';
    await schedule(key);
    const work = { writersLeft: WRITERS };
    const write = async (): Promise<void> => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await node.dataSource.transaction(async (manager) => {
          await node.delays.cancel('test.a', key, { manager });
          await schedule(key, manager);
        });
      }
      work.writersLeft -= 1;
    };
    const seen = { reschedule: new Set<string>(), keep: new Set<string>() };
    const look = async (verb: 'reschedule' | 'keep'): Promise<void> => {
      while (work.writersLeft > 0) seen[verb].add((await act(node.delays, verb, key)).verdict);
    };
    const writers = Array.from({ length: WRITERS }, write);
    await Promise.all([...writers, look('reschedule'), look('keep')]);
    expect([...seen.reschedule]).toEqual(['rescheduled']);
    expect([...seen.keep]).toEqual(['kept']);
    expect(await rowsOf(key)).toBe(1);
  });
});

it('ten callers who schedule a new key at once make one delay, and each hears the truth', async () => {
  for (let round = 0; round < 20; round += 1) {
    const key = `new for all/${round}`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, caller) =>
        act(node.delays, caller % 2 === 0 ? 'replace' : 'keep', key),
      ),
    );
    const verdicts = answers.map(({ verdict }) => verdict);
    expect(verdicts.filter((verdict) => verdict === 'scheduled')).toHaveLength(1);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(await rowsOf(key)).toBe(1);
  }
});

it('ten callers who cancel at once: one of them did it', async () => {
  for (let round = 0; round < 20; round += 1) {
    const key = `gone for all/${round}`;
    await schedule(key);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => act(node.delays, 'cancel', key)),
    );
    const verdicts = answers.map(({ verdict }) => verdict).toSorted();
    expect(verdicts).toEqual([...Array<string>(9).fill('absent'), 'cancelled']);
  }
});
