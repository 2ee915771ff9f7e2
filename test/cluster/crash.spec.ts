import { expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

const PENDING = 100;
const HELD = 16;

const cluster = new Cluster();

const held: Served = { does: 'hold', concurrency: 4, timeout: '3s', backoff: { base: 10 } };

const SERVES = {
  'test.plain': { does: 'note', concurrency: 20 },
  'test.fenced': { does: 'note', fenced: true, concurrency: 8 },
  'test.heldPlain': held,
  'test.heldFenced': { ...held, fenced: true },
} as const satisfies Record<string, Served>;

it('a process killed with delays pending and in flight leaves nothing undone, and no transactional effect twice', async () => {
  const [victim, heir] = await Promise.all([
    cluster.worker('victim', SERVES),
    cluster.worker('heir', SERVES),
  ]);
  heir.onMessage(({ holding }) => holding !== undefined && heir.send({ go: holding }));
  await cluster.schedule('test.heldPlain', HELD);
  await cluster.schedule('test.heldFenced', HELD);
  for (const name of ['test.heldPlain', 'test.heldFenced']) {
    await victim.waitFor(({ holding }) => holding?.startsWith(name) === true);
  }
  await cluster.schedule('test.plain', PENDING, 1_000);
  await cluster.schedule('test.fenced', PENDING, 1_000);
  await victim.kill('SIGKILL');
  await cluster.quiet();

  const times = async (name: string) => [...(await cluster.timesDone(name)).values()];
  expect(await times('test.fenced')).toEqual(Array(PENDING).fill(1));
  expect(await times('test.heldFenced')).toEqual(Array(HELD).fill(1));
  // At least once: what was done but not yet acknowledged is done again.
  expect(await times('test.plain')).toHaveLength(PENDING);
  expect(await times('test.heldPlain')).toHaveLength(HELD);
  for (const name of ['test.heldPlain', 'test.heldFenced']) {
    const again = (await cluster.ends(name)).filter(({ attempts }) => attempts > 1);
    expect(new Set(again.map(({ node }) => node))).toEqual(new Set(['heir']));
  }
  expect(await cluster.sql('SELECT key, last_error FROM delay_queue.delay')).toEqual([]);
});
