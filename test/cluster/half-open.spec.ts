import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openProxy } from '../chaos/proxy/proxy.js';
import { Cluster, type Worker } from './support/cluster.js';
import { startLoneWorker } from './support/lone-worker.js';

let cluster: Cluster;
let proxy: Awaited<ReturnType<typeof openProxy>>;
let silenced: Worker | undefined;

beforeEach(async () => {
  cluster = await Cluster.open();
  proxy = await openProxy(cluster.url);
});

afterEach(async () => {
  if (silenced?.running) await silenced.kill('SIGKILL');
  await proxy.close();
  await cluster.close();
});

it('a node whose connections fall silent loses what it holds, says so, and works again when they are new', async () => {
  const held = { does: 'hold', stubborn: true, timeout: '60s' } as const;
  silenced = await startLoneWorker(proxy.url, 'silenced', {
    serves: { 'test.held': held, 'test.own': { does: 'note' } },
  });
  const { delays } = await cluster.producer();
  await delays.schedule('test.held', null, { after: 0, key: 'k' });
  await silenced.waitFor(({ holding }) => holding === 'k');

  // Nothing is closed: whoever writes hears nothing, and a default client would wait for ever.
  proxy.halfOpen();
  await cluster.worker('heir', { serves: { 'test.held': { does: 'note' } } });
  await cluster.quiet();
  expect((await cluster.ledger()).map(({ node, attempt }) => ({ node, attempt }))).toEqual([
    { node: 'heir', attempt: 2 },
  ]);
  await silenced.waitFor(({ aborted }) => aborted === 'k');
  await silenced.waitFor(({ event }) => event === 'trouble');
  silenced.send({ go: 'k' });
  await delays.schedule('test.own', null, { after: 0, key: 'meanwhile' });

  // The old connections are lost for good; new ones get through.
  proxy.cut();
  proxy.heal();
  await cluster.quiet();
  await delays.schedule('test.own', null, { after: 0, key: 'afterwards' });
  await cluster.quiet();
  const ledger = await cluster.sql(
    `SELECT node, array_agg(key ORDER BY at) AS keys FROM ledger GROUP BY node ORDER BY node`,
  );
  // The held one notes its effect when it is told to go on: it is a plain handler, at least once.
  expect(ledger).toMatchObject([
    { node: 'heir', keys: ['k'] },
    { node: 'silenced', keys: expect.arrayContaining(['meanwhile', 'afterwards']) },
  ]);
  expect(
    await cluster.sql(`SELECT node, attempts FROM delay_queue.history WHERE key = 'k'`),
  ).toEqual([{ node: 'heir', attempts: 2 }]);
}, 90_000);
