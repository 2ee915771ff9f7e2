import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

it('a node without a handler leaves delays of that name alone; the new version runs them', async () => {
  const old = await cluster.worker('old', { serves: { 'test.known': { does: 'note' } } });
  const { delays } = await cluster.producer();
  const both = async (count: number, from: number): Promise<void> => {
    for (const name of ['test.new', 'test.known'] as const) {
      await delays.scheduleMany(
        Array.from({ length: count }, (_, n) => ({
          name,
          payload: null,
          key: String(from + n),
          after: n * 10,
        })),
      );
    }
  };
  await both(50, 0);
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

  await cluster.worker('new', {
    serves: { 'test.known': { does: 'note' }, 'test.new': { does: 'note' } },
  });
  await both(50, 50);
  await cluster.quiet();
  const nodes = await cluster.sql(
    `SELECT node, count(*)::int AS count FROM delay_queue.history WHERE name = 'test.new'
     GROUP BY node`,
  );
  expect(nodes).toEqual([{ node: 'new', count: 100 }]);
  expect(await cluster.ledger()).toHaveLength(200);
  old.send({ count: true });
  const { claims } = await old.waitFor((message) => message.claims !== undefined);
  const known = await cluster.sql<{ count: number }>(
    `SELECT count(*)::int AS count FROM delay_queue.history WHERE node = 'old'`,
  );
  expect(claims!.got).toBe(known[0]!.count);
});
