import { afterEach, expect, it } from '@jest/globals';
import { openProxy, type PostgresProxy } from '../chaos/proxy/proxy.js';
import { Cluster, KEEPS_LEASES } from './support/cluster.js';

let proxy: PostgresProxy | undefined;

afterEach(() => proxy?.close());

const cluster = new Cluster();

it('a node whose connections fall silent loses what it holds, says so, and works again when they are new', async () => {
  proxy = await openProxy(cluster.url);
  const silenced = await cluster.worker(
    'silenced',
    {
      'test.held': { does: 'hold', stubborn: true, timeout: '60s' },
      'test.own': { does: 'note' },
    },
    { url: proxy.url },
  );
  const { delays } = await cluster.producer();
  await cluster.held(silenced, 'test.held');

  // Nothing is closed: whoever writes hears nothing, and a default client would wait for ever.
  proxy.halfOpen();
  await cluster.worker('heir', { 'test.held': { does: 'note' } }, KEEPS_LEASES);
  await cluster.quiet();
  expect(await cluster.ends('test.held')).toEqual([
    { node: 'heir', state: 'completed', attempts: 2 },
  ]);
  await silenced.waitFor(({ aborted }) => aborted === 'test.held');
  await silenced.waitFor(({ event }) => event === 'taskFailed');
  silenced.send({ go: 'test.held' });

  // The old connections are lost for good; new ones get through.
  proxy.cut();
  proxy.heal();
  await delays.schedule('test.own', null, { after: 0, key: 'afterwards' });
  await cluster.quiet();
  expect(await cluster.ends('test.own')).toEqual([
    { node: 'silenced', state: 'completed', attempts: 1 },
  ]);
  expect(await cluster.ends('test.held')).toHaveLength(1);
}, 90_000);
