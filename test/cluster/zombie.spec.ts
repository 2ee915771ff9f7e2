import { expect, it } from '@jest/globals';
import { Cluster, KEEPS_LEASES } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

const held: Served = { does: 'hold', timeout: '60s', backoff: { base: 10 } };

const SERVED = {
  'test.done': { ...held, stubborn: true },
  'test.held': held,
  'test.fenced': { ...held, fenced: true, timeout: '4s' },
} as const satisfies Record<string, Served>;
const NAMES = ['test.done', 'test.held', 'test.fenced'] as const;

const cluster = new Cluster();

const rows = () =>
  cluster.sql(
    `SELECT name, epoch::int, attempts, leased_by, due_at, last_error FROM delay_queue.delay ORDER BY name`,
  );

it('a process that was paused past its lease changes nothing afterwards: not what is done, not what another holds', async () => {
  const zombie = await cluster.worker('zombie', SERVED);
  for (const name of NAMES) await cluster.held(zombie, name);
  await zombie.kill('SIGSTOP');

  const [, holder] = await Promise.all([
    cluster.worker(
      'heir',
      {
        'test.done': { ...held, does: 'note' },
        // Done although the zombie's fence held the row: its session is ended while it is still paused.
        'test.fenced': { ...SERVED['test.fenced'], does: 'note' },
      },
      KEEPS_LEASES,
    ),
    cluster.worker('holder', { 'test.held': held }, KEEPS_LEASES),
  ]);
  await cluster.until('SELECT FROM delay_queue.history', ({ length }) => length === 2);
  await holder.waitFor(({ holding }) => holding === 'test.held');
  // The key lives again, so that an acknowledgement by key or by a stale lease would show.
  const { delays } = await cluster.producer();
  await delays.schedule('test.done', null, { after: '1h', key: 'test.done' });
  const before = await rows();
  expect(before).toMatchObject([
    { name: 'test.done', leased_by: null },
    { name: 'test.held', leased_by: 'holder' },
  ]);

  await zombie.kill('SIGCONT');
  for (const name of NAMES) {
    await zombie.waitFor(({ aborted }) => aborted === name);
    zombie.send({ go: name });
    await zombie.waitFor(({ event, key }) => event === 'lost' && key === name);
  }
  await zombie.kill('SIGTERM');
  // Nor has it renewed, retried or released what the holder has.
  expect(await rows()).toEqual(before);

  holder.send({ go: 'test.held' });
  await cluster.until('SELECT FROM delay_queue.history', ({ length }) => length === 3);
  for (const name of NAMES) {
    const node = name === 'test.held' ? 'holder' : 'heir';
    expect(await cluster.ends(name)).toEqual([{ node, state: 'completed', attempts: 2 }]);
  }
  const ledger = await cluster.ledger();
  const transactional = ledger.filter(({ name }) => name === 'test.fenced');
  expect(transactional.map(({ node }) => node)).toEqual(['heir']);
});
