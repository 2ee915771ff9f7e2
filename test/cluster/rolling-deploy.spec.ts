import { expect, it } from '@jest/globals';
import { Cluster, KEEPS_LEASES } from './support/cluster.js';

const COUNT = 50;

const cluster = new Cluster();

it('a node without a handler leaves delays of that name alone; the new version runs them', async () => {
  const old = await cluster.worker('old', { 'test.known': { does: 'note' } }, KEEPS_LEASES);
  await cluster.schedule('test.new', COUNT, 500);
  await cluster.schedule('test.known', COUNT, 500);
  // All that the old one knows is done; that it looked at the other rows, too, shows in nothing.
  await cluster.until<{ n: number }>(
    `SELECT count(*)::int AS n FROM delay_queue.delay WHERE name = 'test.known'`,
    ([row]) => row?.n === 0,
  );
  const left = await cluster.sql(
    `SELECT DISTINCT name, epoch::int, attempts, leased_by, last_error FROM delay_queue.delay`,
  );
  expect(left).toEqual([
    { name: 'test.new', epoch: 0, attempts: 0, leased_by: null, last_error: null },
  ]);

  const both = { 'test.known': { does: 'note' }, 'test.new': { does: 'note' } } as const;
  await cluster.worker('new', both, KEEPS_LEASES);
  await cluster.schedule('test.known', COUNT, 500);
  await cluster.quiet();
  const ends = await cluster.ends('test.new');
  expect(ends).toHaveLength(COUNT);
  for (const end of ends) expect(end).toEqual({ node: 'new', state: 'completed', attempts: 1 });
  expect(await cluster.ledger()).toHaveLength(3 * COUNT);
  old.send({ count: true });
  const { claims } = await old.waitFor((message) => message.claims !== undefined);
  const ofOld = (await cluster.ends('test.known')).filter(({ node }) => node === 'old');
  expect(claims!.got).toBe(ofOld.length);
});
