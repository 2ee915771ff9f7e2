import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { type DelayNode, startNode } from '../../support/delay-node.js';
import { OpenTransactions } from '../../support/open-transactions.js';
import { OtherNode } from '../../support/other-node.js';
import { act, type Verb } from '../../support/verbs.js';

/**
 * A caller who waited behind a claim in flight would get the lock of the row before READ COMMITTED sees
 * that it is leased by now, and keep it to the end of the transaction although the answer is `running`.
 */
describe('a caller who waited behind a claim in flight and heard `running`', () => {
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

  it('leaves the row to the attempt', async () => {
    const verb: Verb = 'cancel';
    const { id } = await node.delays.schedule('test.a', { n: 1 }, { after: 0, key: verb });
    const claiming = await transactions.begin(node.dataSource);
    const caller = await transactions.begin(node.dataSource);
    const claim = await new OtherNode(claiming.manager).claim(id);
    const answer = act(node.delays, verb, verb, caller.manager);
    await claiming.isMet();
    await claiming.commit();
    expect(await answer).toMatchObject({ verdict: 'running' });
    // The caller's transaction goes on, and so does the attempt.
    const { store } = new OtherNode(node.dataSource);
    expect(await store.renew([claim], 60_000)).toEqual([claim.id]);
    expect(await store.complete([{ ...claim, latenessMs: 0 }])).toEqual([claim.id]);
  });
});
