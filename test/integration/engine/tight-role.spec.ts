import { expect, it } from '@jest/globals';
import { fencedHandler, plainHandler } from '../../support/delay-node.js';
import { EFFECT_TABLE, stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach({ tables: EFFECT_TABLE });

it('a role that may wait for nothing and finds nothing by itself is enough to work with', async () => {
  // Longer than any statement of ours takes, on a machine that is busy, too.
  await stage.set({
    statement_timeout: '5s',
    lock_timeout: '500ms',
    idle_session_timeout: '1s',
    idle_in_transaction_session_timeout: '1s',
    search_path: '',
  });
  const node = await stage.start({
    providers: [
      plainHandler('test.plain', () => {}, { maxAttempts: 50 }),
      fencedHandler(
        'test.fenced',
        async ({ key }, { manager }) => {
          await manager.query('INSERT INTO public.effect VALUES ($1)', [key]);
        },
        { maxAttempts: 50 },
      ),
    ],
  });
  const { delays, dataSource } = node;
  const troubles: unknown[] = [];
  node.events.on('taskFailed', (trouble) => troubles.push(trouble));
  for (const key of ['first', 'second']) {
    const ends = (['test.plain', 'test.fenced'] as const).map((name) =>
      node.next('completed', (delay) => delay.name === name && delay.key === key),
    );
    await delays.schedule('test.plain', null, { after: 0, key });
    // The server may just have ended the connection that the application's pool lends.
    const inTransaction = (): Promise<unknown> =>
      dataSource.transaction((manager) =>
        delays.schedule('test.fenced', null, { after: 0, key, manager }),
      );
    await inTransaction().catch(inTransaction);
    await Promise.all(ends);
    // Longer than a session of that role may be idle, by the server's own clock.
    await stage.sql('SELECT pg_sleep(1.5)');
  }
  expect(await delays.schedule('test.plain', null, { after: '1h', key: 'k' })).toMatchObject({
    verdict: 'scheduled',
  });
  expect(await delays.cancel('test.plain', 'k')).toMatchObject({ verdict: 'cancelled' });
  expect(await stage.sql('SELECT key FROM effect ORDER BY key')).toEqual([
    { key: 'first' },
    { key: 'second' },
  ]);
  // The listener above all: nothing of ours was ended for being idle.
  expect(troubles).toEqual([]);
});
