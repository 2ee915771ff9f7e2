import { expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { openProxy } from '../../chaos/proxy/proxy.js';
import { fencedHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { HastyClient } from './support/hasty-client.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach({ tables: 'CREATE TABLE effect (attempt int NOT NULL)' });

it('a transaction on a connection that died silently is cut, and its connection leaves the pool', async () => {
  const proxy = await openProxy(stage.url);
  const began = signal();
  try {
    const node = await stage.start({
      database: { url: proxy.url, extra: { max: 20, Client: HastyClient } },
      options: { lease: '1s', timeout: '500ms' },
      providers: [
        fencedHandler('test.fenced', async ({ attempt }, { manager }) => {
          await manager.query('INSERT INTO effect VALUES ($1)', [attempt]);
          if (attempt > 1) return;
          proxy.halfOpen();
          began.resolve();
          // No answer ever comes.
          await manager.query('SELECT 1');
        }),
      ],
    });
    const completed = node.next('completed');
    const pool = (node.dataSource.driver as unknown as { master: Pool }).master;
    await node.delays.schedule('test.fenced', null, { after: 0 });
    await began.promise;
    expect(pool.totalCount).toBe(1);
    await until(
      () => pool.totalCount,
      (connections) => connections === 0,
    );
    proxy.heal();
    expect(await completed).toMatchObject({ name: 'test.fenced' });
    expect(await stage.sql('SELECT attempt FROM effect')).toHaveLength(1);
  } finally {
    proxy.heal();
    await stage.close({ force: true });
    await proxy.close();
  }
});
