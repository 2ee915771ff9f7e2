import { expect, it } from '@jest/globals';
import type { DelayService } from 'nestjs-delay-queue';
import { fencedHandler, plainHandler } from '../../support/delay-node.js';
import { EFFECT_TABLE, stageOfEach } from './support/stage-of-each.js';

/** A DataSource that is destroyed, and perhaps initialized again, under a node that runs; none of its connections is left. */
const stage = stageOfEach({ tables: EFFECT_TABLE });

let delays: DelayService | undefined;

const providers = [
  plainHandler('test.plain', () => {}),
  fencedHandler('test.fenced', async ({ key }, { manager }) => {
    await manager.query('INSERT INTO effect VALUES ($1)', [key]);
    await delays?.schedule('test.plain', null, { after: '1h', key: 'next', manager });
  }),
];

it('and initialized again goes on as before: what a transaction schedules is fired in time', async () => {
  // No load comes by itself: only the word of the commit can bring what is due.
  const node = await stage.start({
    providers,
    options: { horizon: '1h', loadEvery: '59m', lease: '1h' },
  });
  const { dataSource } = node;
  delays = node.delays;
  for (let times = 1; times <= 2; times += 1) {
    await dataSource.destroy();
    await dataSource.initialize();
    const key = `k${times}`;
    for (const name of ['test.plain', 'test.fenced'] as const) {
      const completed = node.next('completed', (delay) => delay.name === name);
      await dataSource.transaction((manager) =>
        node.delays.schedule(name, null, { after: 300, key, manager }),
      );
      await completed;
    }
    expect(await node.delays.find('test.plain', key)).toBeNull();
  }
  expect(await stage.sql('SELECT key FROM effect ORDER BY key')).toEqual([
    { key: 'k1' },
    { key: 'k2' },
  ]);
  // Each list of subscribers that TypeORM made has the engine in it once, until no call waits for
  // the end of its transaction.
  await node.stop();
  expect(dataSource.subscribers).toEqual([]);
});

it('before the application is closed: nothing is left open, and calls meanwhile say so', async () => {
  const node = await stage.start({ providers });
  await node.dataSource.destroy();
  await expect(node.delays.find('test.plain', 'k')).rejects.toMatchObject({
    code: 'DELAY_UNAVAILABLE',
    message: expect.stringMatching(/not connected|not set|not established/i),
  });
  await expect(node.stop()).resolves.toBeUndefined();
});
