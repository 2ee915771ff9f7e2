import { describe, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { fencedHandler, signal } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { act, ANSWERS, type Answers, type Verb, VERBS } from '../support/verbs.js';

/** What verbs answer while other callers, or a handler, are in the middle of something with the same key. */
const started = signal();
const goOn = signal();
const close = fencedHandler('test.close', async (_delay, { manager }) => {
  started.resolve();
  await goOn.promise;
  await manager.query(`UPDATE purchase SET status = 'closed' WHERE status = 'open'`);
});
const node = new OneNode({ providers: [close] });

const schedule = (key: string, manager?: EntityManager) =>
  node.delays.schedule('test.a', { n: 1 }, { after: '1h', key, manager });

/** The live rows of a key, seen from outside. */
const rowsOf = async (key: string): Promise<number> =>
  (await node.sql('SELECT id FROM delay_queue.delay WHERE key = $1', [key])).length;

/** What the transaction of the other caller does, and what its commit leaves behind. */
const OTHERS: [what: string, verbs: Verb[], committed: Answers][] = [
  ['cancels', ['cancel'], ANSWERS.nothing],
  ['reschedules', ['reschedule'], ANSWERS.waiting],
  ['cancels and schedules again', ['cancel', 'replace'], ANSWERS.waiting],
];

describe('another caller', () => {
  it.each(
    OTHERS.flatMap(([what, verbs, committed]) => [
      { what, verbs, how: 'commit' as const, answers: committed },
      { what, verbs, how: 'rollback' as const, answers: ANSWERS.waiting },
    ]),
  )('who $what lets every verb wait for the $how', async ({ verbs, how, answers }) => {
    for (const verb of VERBS) {
      const [key, keyInside] = [verb, `${verb} in a transaction`];
      await Promise.all([schedule(key), schedule(keyInside)]);
      const other = await node.begin();
      for (const step of verbs) {
        await act(node.delays, step, key, other.manager);
        await act(node.delays, step, keyInside, other.manager);
      }
      const caller = await node.begin();
      const inside = act(node.delays, verb, keyInside, caller.manager);
      await other.isMet();
      const alone = act(node.delays, verb, key);
      await other.blocksSomebody();
      await other.end(how);
      const left = await rowsOf(keyInside);
      const verdict = answers[verb];
      expect(await Promise.all([alone, inside])).toMatchObject([{ verdict }, { verdict }]);
      expect(await rowsOf(key)).toBe(['cancelled', 'absent'].includes(verdict) ? 0 : 1);
      await caller.rollback();
      expect(await rowsOf(keyInside)).toBe(left);
    }
  });

  it.each(['cancel', 'reschedule'] as const)(
    'whose key is new and not committed: it is absent for %s, at once',
    async (verb) => {
      const other = await node.begin();
      await schedule('new', other.manager);
      expect(await act(node.delays, verb, 'new')).toEqual({ verdict: 'absent' });
    },
  );

  it.each(['replace', 'keep', 'error'] as const)(
    'whose key is new and not committed: %s waits for its end',
    async (verb) => {
      for (const [how, verdict] of [
        ['commit', ANSWERS.waiting[verb]],
        ['rollback', 'scheduled'],
      ] as const) {
        const other = await node.begin();
        const { id } = await schedule(how, other.manager);
        const answer = act(node.delays, verb, how);
        await other.blocksSomebody();
        await other.end(how);
        expect(await answer).toMatchObject({ verdict });
        const { id: lives } = (await node.delays.find('test.a', how)) ?? {};
        expect(lives === id).toBe(how === 'commit');
      }
    },
  );

  it('who cancels and schedules again and again: nobody finds the key absent, nobody makes a second one', async () => {
    const key = 'busy';
    await schedule(key);
    const work = { writers: 3 };
    const write = async (): Promise<void> => {
      for (let round = 0; round < 25; round += 1) {
        await node.dataSource.transaction(async (manager) => {
          await node.delays.cancel('test.a', key, { manager });
          await schedule(key, manager);
        });
      }
      work.writers -= 1;
    };
    const look = async (verb: 'reschedule' | 'keep'): Promise<string[]> => {
      const seen = new Set<string>();
      while (work.writers > 0) seen.add((await act(node.delays, verb, key)).verdict);
      return [...seen];
    };
    const looks = Promise.all([look('reschedule'), look('keep')]);
    await Promise.all([write(), write(), write()]);
    expect(await looks).toEqual([['rescheduled'], ['kept']]);
    expect(await rowsOf(key)).toBe(1);
  });
});

it('a payment and the close of its order: the cancel does not wait for the handler that waits for the payer', async () => {
  await node.sql(`CREATE TABLE purchase AS SELECT 'open' AS status`);
  const completed = node.next('completed');
  await node.delays.schedule('test.close', null, { after: 0, key: 'k' });
  await started.promise;
  const payer = await node.begin();
  await payer.manager.query(`UPDATE purchase SET status = 'paid' WHERE status = 'open'`);
  goOn.resolve();
  await payer.blocksSomebody();
  const { manager } = payer;
  expect(await node.delays.cancel('test.close', 'k', { manager })).toMatchObject({
    verdict: 'running',
  });
  expect(await node.delays.find('test.close', 'k')).toMatchObject({ state: 'running' });
  await payer.commit();
  await completed;
  expect(await node.sql('SELECT status FROM purchase')).toEqual([{ status: 'paid' }]);
});
