import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { openProxy, type PostgresProxy } from '../../chaos/proxy/proxy.js';
import { fencedHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { HastyClient } from './support/hasty-client.js';
import { stageOfEach } from './support/stage-of-each.js';

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

it('when a connection of the engine falls silent, the sessions of the application that were opened before it leave its pool', async () => {
  const node = await stage.start({
    database: {
      url: proxy.url,
      // Idle ones would leave by themselves.
      extra: { max: 20, idleTimeoutMillis: 0, Client: HastyClient },
    },
    providers: [fencedHandler('test.fenced', () => {})],
  });
  const runners = Array.from({ length: 5 }, () => node.dataSource.createQueryRunner());
  await Promise.all(runners.map((runner) => runner.connect()));
  const [busy, ...idle] = runners;
  await Promise.all(idle.map((runner) => runner.release()));
  const { master: pool } = node.dataSource.driver as unknown as { master: Pool };
  expect(pool.idleCount).toBe(4);
  const unbegun: unknown[] = [];
  node.events.on('taskFailed', ({ task, error }) => task === 'begin' && unbegun.push(error));
  proxy.silence();
  await until(
    () => pool.idleCount,
    (count) => count === 0,
  );
  await busy!.release();
  expect(pool.totalCount).toBe(0);
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', { n: 1 }, { after: 0 });
  expect(await completed).toMatchObject({ attempt: 1 });
  expect(unbegun).toEqual([]);
});
