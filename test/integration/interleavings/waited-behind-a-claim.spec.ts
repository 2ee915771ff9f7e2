import { expect, it } from '@jest/globals';
import { signal } from '../../support/delay-node.js';
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
  // Between two of its looks: one that has begun before the commit may lock what it then finds leased.
  const [met, committed] = [signal(), signal()];
  const runner = caller.manager.queryRunner!;
  const query = runner.query.bind(runner);
  let looks = 0;
  runner.query = async (...given: [string]) => {
    looks += 1;
    if (looks > 1) await committed.promise;
    const rows = await query(...given);
    met.resolve();
    return rows;
  };
  const answer = delays.cancel('test.a', 'k', { manager: caller.manager });
  await met.promise;
  await claiming.commit();
  committed.resolve();
  expect(await answer).toMatchObject({ verdict: 'running' });
  // The caller's transaction goes on, and so does the attempt.
  const { store } = new OtherNode(dataSource);
  expect(await store.renew([claim], 60_000)).toEqual([claim.id]);
  expect(await store.complete([{ ...claim, latenessMs: 0 }])).toEqual([claim.id]);
});
