import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, startNode } from '../support/delay-node.js';
import { type OpenTransaction, OpenTransactions } from '../support/open-transactions.js';
import { OtherNode } from '../support/other-node.js';
import { act, ANSWERS, type Answer, VERBS } from '../support/verbs.js';

/** Each verb is asked twice. */
const RUNNING = VERBS.flatMap(() => ['running', 'running']);

/**
 * Attempts of another node, held at every point of their life. While one of its transactions is
 * open, an answer that comes at all has not waited for it.
 */
describe('an attempt of another node', () => {
  let database: TestDatabase;
  let node: DelayNode;
  let attempt: OpenTransaction;
  let other: OtherNode;
  const transactions = new OpenTransactions();

  beforeAll(async () => {
    database = await createTestDatabase();
    node = await startNode({ url: database.url });
  });

  beforeEach(async () => {
    attempt = await transactions.begin(node.dataSource);
    other = new OtherNode(attempt.manager);
  });

  afterEach(() => transactions.rollbackAll());

  afterAll(async () => {
    await node.stop();
    await database.drop();
  });

  const due = async (key: string): Promise<string> =>
    (await node.delays.schedule('test.a', { n: 1 }, { after: 0, key })).id;

  /** A committed claim; what comes next of the attempt runs in its open transaction. */
  const claimed = async (key: string, leaseMs?: number) => {
    const id = await due(key);
    return new OtherNode(node.dataSource).claim(id, { leaseMs });
  };

  /** What every verb says about the key, outside and inside a transaction of the caller. */
  async function verdictsOf(key: string): Promise<string[]> {
    const verdicts: string[] = [];
    for (const verb of VERBS) {
      verdicts.push((await act(node.delays, verb, key)).verdict);
      const caller = await transactions.begin(node.dataSource);
      verdicts.push((await act(node.delays, verb, key, caller.manager)).verdict);
      await caller.commit();
    }
    return verdicts;
  }

  it('that holds its fence answers `running` at once', async () => {
    await other.fence(await claimed('fenced'));
    expect(await verdictsOf('fenced')).toEqual(RUNNING);
  });

  it('whose lease is over while its fence holds the row answers `running` at once', async () => {
    await other.fence(await claimed('fenced past its lease', 0));
    expect(await verdictsOf('fenced past its lease')).toEqual(RUNNING);
  });

  it('that has removed its row and is about to commit answers `running` at once', async () => {
    const claim = await claimed('committing');
    await other.fence(claim);
    expect(await other.store.complete([{ ...claim, latenessMs: 0 }])).toEqual([claim.id]);
    expect(await verdictsOf('committing')).toEqual(RUNNING);
  });

  it('that has moved its own row on and goes on answers `running` at once', async () => {
    const claim = await claimed('moved on');
    await other.fence(claim);
    await attempt.manager.query(
      `UPDATE delay_queue.delay
       SET leased_by = NULL, leased_until = NULL, epoch = epoch + 1, wake_at = wake_at + '1 h',
           due_at = due_at + interval '1 h'
       WHERE id = $1`,
      [claim.id],
    );
    expect(await verdictsOf('moved on')).toEqual(RUNNING);
  });

  it('whose renewal is not committed answers `running` at once', async () => {
    const claim = await claimed('renewing', 0);
    expect(await other.store.renew([claim], 60_000)).toEqual([claim.id]);
    expect(await verdictsOf('renewing')).toEqual(RUNNING);
  });

  it.each(VERBS)('whose claim is in flight lets %s wait, and then say `running`', async (verb) => {
    const key = `claim commits/${verb}`;
    await other.claim(await due(key));
    const answer = act(node.delays, verb, key);
    await attempt.blocksSomebody();
    await attempt.commit();
    expect(await answer).toMatchObject({ verdict: 'running' });
  });

  it.each(VERBS)('whose claim is rolled back lets %s wait, and then act', async (verb) => {
    const key = `claim fails/${verb}`;
    await other.claim(await due(key));
    const answer = act(node.delays, verb, key);
    await attempt.blocksSomebody();
    await attempt.rollback();
    expect(await answer).toMatchObject({ verdict: ANSWERS.waiting[verb] });
  });

  it('that claims a row again after a dead node answers `running` at once', async () => {
    const id = await due('claimed again');
    await new OtherNode(node.dataSource, 'dead-node').claimAndDie(id);
    await other.claim(id);
    expect(await verdictsOf('claimed again')).toEqual(RUNNING);
  });

  it('that dies with its session while callers wait lets them act', async () => {
    await other.claim(await due('killed'));
    const answers: Promise<Answer>[] = VERBS.map((verb) => act(node.delays, verb, 'killed'));
    await attempt.blocksSomebody();
    await attempt.rollback();
    for (const { verdict } of await Promise.all(answers)) {
      expect(verdict).not.toBe('running');
    }
  });

  it('does not get a row that a caller holds, and looks again without waiting', async () => {
    const id = await due('held by a caller');
    const caller = await transactions.begin(node.dataSource);
    expect(await act(node.delays, 'cancel', 'held by a caller', caller.manager)).toMatchObject({
      verdict: 'cancelled',
    });
    const [seen] = await other.store.lookAt([Number(id)]);
    const request = { id: Number(id), epoch: seen?.epoch ?? -1, leaseMs: 1_000, maxAttempts: 9 };
    expect(await other.store.claim([request])).toEqual([]);
    await caller.rollback();
    expect(await other.store.claim([request])).toMatchObject([{ id: Number(id), attempts: 1 }]);
  });
});
