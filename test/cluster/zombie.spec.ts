import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, type Worker } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

/** A worker that is paused while its handler holds `key`. */
async function paused(key: string, served: Served): Promise<Worker> {
  const zombie = await cluster.worker('zombie', { serves: { 'test.held': served } });
  const { delays } = await cluster.producer();
  await delays.schedule('test.held', null, { after: 0, key });
  await zombie.waitFor(({ holding }) => holding === key);
  await zombie.kill('SIGSTOP');
  return zombie;
}

/** A worker that does at once what the paused one should have done. */
const inherit = (served: Served): Promise<Worker> =>
  cluster.worker('heir', { serves: { 'test.held': { ...served, does: 'note' } } });

const held: Served = { does: 'hold', timeout: '2s', backoff: { base: 10 } };
const rowOf = (key: string) =>
  cluster.sql(
    `SELECT epoch::int, attempts, leased_by, wake_at, due_at FROM delay_queue.delay WHERE key = $1`,
    [key],
  );

describe('a process that was paused past its lease', () => {
  it('changes nothing afterwards: its acknowledgement finds the row with another', async () => {
    const stubborn: Served = { ...held, timeout: '60s', stubborn: true };
    const zombie = await paused('k', stubborn);
    const heir = await inherit(stubborn);
    await cluster.quiet();
    // The key lives again, so that an acknowledgement by key or by a stale lease would show.
    const { delays } = await cluster.producer();
    await delays.schedule('test.held', null, { after: '1h', key: 'k' });
    const before = await rowOf('k');
    await zombie.kill('SIGCONT');
    await zombie.waitFor(({ aborted }) => aborted === 'k');
    zombie.send({ go: 'k' });
    await zombie.waitFor(({ event }) => event === 'lost');
    expect(await rowOf('k')).toEqual(before);
    const history = await cluster.sql('SELECT node, state, attempts FROM delay_queue.history');
    expect(history).toEqual([{ node: 'heir', state: 'completed', attempts: 2 }]);
    await heir.kill();
    await zombie.kill();
  });

  it('neither renews, retries nor releases a row that another holds', async () => {
    const plain: Served = { ...held, timeout: '60s' };
    const zombie = await paused('k', plain);
    // Held under a live lease while the zombie wakes up.
    const holder = await cluster.worker('holder', { serves: { 'test.held': plain } });
    await holder.waitFor(({ holding }) => holding === 'k');
    await zombie.kill('SIGCONT');
    await zombie.waitFor(({ event }) => event === 'lost');
    await zombie.kill('SIGTERM');
    const [row] = await rowOf('k');
    expect(row).toMatchObject({ leased_by: 'holder' });
    holder.send({ go: 'k' });
    await cluster.quiet();
    expect((await cluster.ledger()).map(({ node }) => node)).toEqual(['holder']);
  });

  it('has a transactional effect once, and its session ends while it is still paused', async () => {
    const fenced: Served = { ...held, fenced: true };
    const zombie = await paused('k', fenced);
    await inherit(fenced);
    // Done by the heir although the zombie's fence held the row: its session was ended.
    await cluster.quiet();
    expect((await cluster.ledger()).map(({ node }) => node)).toEqual(['heir']);
    await zombie.kill('SIGCONT');
    await zombie.waitFor(({ aborted }) => aborted === 'k');
    zombie.send({ go: 'k' });
    await zombie.waitFor(({ event }) => event === 'lost');
    expect((await cluster.ledger()).map(({ node }) => node)).toEqual(['heir']);
  });
});
