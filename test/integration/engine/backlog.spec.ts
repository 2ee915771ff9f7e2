import { expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase } from '../../support/database.js';
import { plainHandler, signal, startNode } from '../../support/delay-node.js';
import { makeSweepsRare } from '../../support/rare-sweeps.js';

makeSweepsRare();

const ROWS = 15_000;

/** Attempts that may wait to be written down before nothing more is claimed. */
const UNACKNOWLEDGED_MAX = 10_000;

it('a backlog goes on when acknowledgements that were held up get through', async () => {
  const database = await createTestDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT 'test.backlog', 'null', now(), now(), now() FROM generate_series(1, $1)`,
    [ROWS],
  );
  // Whoever writes history waits, and so does every acknowledgement.
  await client.query('BEGIN; LOCK TABLE delay_queue.history IN SHARE MODE');
  const held = signal();
  const done = signal();
  let runs = 0;
  const run = (): void => {
    runs += 1;
    if (runs === UNACKNOWLEDGED_MAX) held.resolve();
  };
  const node = await startNode({
    url: database.url,
    providers: [plainHandler('test.backlog', run, { concurrency: 10_000 })],
    // No load and no sweep comes to the rescue within this test.
    options: { horizon: '1h', loadEvery: '59m' },
  });
  try {
    let completed = 0;
    node.events.on('completed', () => {
      completed += 1;
      if (completed === ROWS) done.resolve();
    });
    await held.promise;
    await client.query('COMMIT');
    await done.promise;
    expect(runs).toBe(ROWS);
  } finally {
    await node.stop();
    await client.end();
    await database.drop();
  }
});
