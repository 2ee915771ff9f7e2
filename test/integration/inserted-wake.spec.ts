import { expect, it } from '@jest/globals';
import { DelayStore } from '../../src/delay-queue/store/delay.store.js';
import type { MoveTo } from '../../src/delay-queue/validation/when.js';
import { fileDatabase } from '../support/file-database.js';
import { clientRunner } from '../support/other-node.js';

const database = fileDatabase();

const WISHES: MoveTo[] = [
  { kind: 'after', ms: 0 },
  { kind: 'after', ms: 1 },
  { kind: 'after', ms: 3_600_000 },
  { kind: 'at', iso: '1970-01-01T00:00:00.000Z' },
  { kind: 'at', iso: '2030-01-02T03:04:05.678Z' },
  { kind: 'at', iso: '9999-12-31T23:59:59.999Z' },
];

/** An insert does not answer the wake it has written: it is told from what it does answer. */
it('the wake that is told of what was inserted is the one that stands in the row', async () => {
  const client = await database.connect();
  const store = new DelayStore('delay_queue', true, 'node-1');
  const placements = WISHES.map((to) => ({
    name: 'test.a',
    key: null,
    payload: 'null',
    to,
    maxAttempts: null,
    onConflict: 'replace' as const,
  }));
  for (let round = 0; round < 50; round += 1) {
    const placed = await store.place(clientRunner(client), placements);
    const { rows } = await client.query<{ id: string; due: string; wake: string }>(
      `SELECT id::text, (extract(epoch FROM due_at) * 1000)::text AS due,
              (extract(epoch FROM wake_at) * 1000)::text AS wake
       FROM delay_queue.delay d ORDER BY d.id`,
    );
    expect(placed.map(({ id, dueMs, wakeMs }) => [id, dueMs, wakeMs])).toEqual(
      rows.map(({ id, due, wake }) => [Number(id), Number(due), Number(wake)]),
    );
    await client.query('TRUNCATE delay_queue.delay');
  }
});
