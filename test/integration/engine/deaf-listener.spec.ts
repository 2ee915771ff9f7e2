import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openProxy, type PostgresProxy } from '../../chaos/proxy/proxy.js';
import { type DelayNode, plainHandler } from '../../support/delay-node.js';
import { IS_LISTENER } from '../../support/listener.js';
import { HastyClient } from './support/hasty-client.js';
import { stageOfEach } from './support/stage-of-each.js';
import { NodeStore } from '../../support/engine-parts.js';

/** A listening connection over which nothing comes any more, and which was not closed. */
const stage = stageOfEach({ force: true });

let proxy: PostgresProxy;

beforeEach(async () => {
  proxy = await openProxy(stage.url);
});

afterEach(async () => {
  proxy.cut();
  await stage.close({ force: true });
  await proxy.close();
});

async function start(): Promise<{ node: DelayNode; troubles: unknown[] }> {
  const node = await stage.start({
    database: { url: proxy.url, extra: { max: 20, Client: HastyClient } },
    options: { nodeName: 'deaf', loadEvery: '200ms', horizon: '1s' },
    providers: [plainHandler('test.a', () => {})],
  });
  const troubles: unknown[] = [];
  node.events.on('taskFailed', ({ task, error }) => {
    if (task === 'listen') troubles.push((error as Error).message);
  });
  return { node, troubles };
}

/** Sessions that listen, and by which the node is seen. */
const present = () =>
  stage.sql<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity a JOIN pg_locks l USING (pid)
     WHERE datname = current_database() AND locktype = 'advisory' AND objsubid = 1`,
  );

it('a node whose listening connection died silently says so once, and hears again over a new one', async () => {
  const { node, troubles } = await start();
  const recovered = node.next('taskRecovered', ({ task }) => task === 'listen');
  proxy.silence();
  await recovered;
  expect(troubles).toEqual([expect.stringMatching(/no answer .* over the listening connection/)]);
  const heard = node.next('completed');
  // Which only a hint tells of in time: nothing of this node was asked.
  const [row] = await stage.sql<{ id: string }>(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT 'test.a', 'null', t, t, t FROM clock_timestamp() AS t RETURNING id`,
  );
  await stage.sql(`SELECT pg_notify('delay_queue', $1)`, [
    `w${JSON.stringify([[Number(row!.id), 0, 'test.a', 0]])}`,
  ]);
  await heard;
  // The old session stays until the server hears of its end; then the new one takes its lock.
  proxy.cutSilent();
  await stage.until(
    `SELECT present FROM delay_queue.node WHERE id = 'deaf'`,
    ([seen]) => seen?.['present'] === true,
  );
});

it('a node that listens where nothing is said any more listens where its loads are answered', async () => {
  const { node, troubles } = await start();
  await stage.until(
    `SELECT present FROM delay_queue.node WHERE id = 'deaf'`,
    ([seen]) => seen?.['present'] === true,
  );
  const before = await present();
  let elsewhere = true;
  stage.parts.intercept(NodeStore, 'load', async ({ real }) => {
    const page = await real();
    if (!elsewhere || page.isHeld !== true) return page;
    elsewhere = false;
    return { ...page, isHeld: false };
  });
  await node.next('taskRecovered', ({ task }) => task === 'listen');
  expect(troubles).toEqual([expect.stringMatching(/leads to another server/)]);
  await stage.until(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND ${IS_LISTENER}`,
    (rows) => rows.length === 1 && !before.some(({ pid }) => pid === rows[0]!['pid']),
  );
});
