import { expect, it } from '@jest/globals';
import { OneNode } from '../../support/one-node.js';
import { OtherNode } from '../../support/other-node.js';

const node = new OneNode({ options: { worker: false } });

/**
 * A caller who waited behind a claim in flight would get the lock of the row before READ COMMITTED sees
 * that it is leased by now, and keep it to the end of the transaction although the answer is `running`.
 */
it('a caller who waited behind a claim in flight and heard `running` leaves the row to the attempt', async () => {
  const { delays, dataSource } = node;
  const { id } = await delays.schedule('test.a', { n: 1 }, { after: 0, key: 'k' });
  const [claiming, caller] = [await node.begin(), await node.begin()];
  const claim = await new OtherNode(claiming.manager).claim(id);
  const answer = delays.cancel('test.a', 'k', { manager: caller.manager });
  await claiming.isMet();
  await claiming.commit();
  expect(await answer).toMatchObject({ verdict: 'running' });
  // The caller's transaction goes on, and so does the attempt.
  const { store } = new OtherNode(dataSource);
  expect(await store.renew([claim], 60_000)).toEqual([claim.id]);
  expect(await store.complete([{ ...claim, latenessMs: 0 }])).toEqual([claim.id]);
});
