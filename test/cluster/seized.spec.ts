import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NodeProcess } from '../support/node-process.js';
import { Cluster, SHORT } from './support/cluster.js';
import type { SeizedMessage, SeizedSetup } from './support/seized.protocol.js';

let cluster: Cluster;
let until: string;
let seized: NodeProcess<SeizedMessage>;

beforeEach(async () => {
  until = join(tmpdir(), `delay-queue-seized-${randomBytes(5).toString('hex')}`);
  cluster = await Cluster.open();
  const setup: SeizedSetup = {
    url: cluster.url,
    options: { ...SHORT, nodeName: 'seized' },
    until,
  };
  seized = NodeProcess.start('test/cluster/fixtures/seized.ts', {
    env: { SEIZED: JSON.stringify(setup) },
  });
  await seized.waitFor(({ ready }) => ready === true);
});

afterEach(async () => {
  if (seized.running) await seized.kill('SIGKILL');
  await cluster.close();
  rmSync(until, { force: true });
});

const letGo = (): void => writeFileSync(until, '');

const databaseMs = async (): Promise<number> => {
  const [row] = await cluster.sql<{ ms: number }>(
    'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
  );
  return row!.ms;
};

/** Delays that wait for this process find out here that it does not come. */
async function overdueByASecond(key: string): Promise<void> {
  await cluster.until(
    `SELECT id FROM delay_queue.delay
     WHERE key = $1 AND wake_at < clock_timestamp() - interval '1 second'`,
    (rows) => rows.length === 1,
    [key],
  );
}

describe('a handler that blocks the event loop of its process', () => {
  it('loses its lease, its result changes nothing, and what fires late says how late', async () => {
    const { delays } = await cluster.producer();
    await delays.schedule('test.plain', null, { after: 0, key: 'k' });
    await seized.waitFor((message) => message.seized === 'k');
    const { dueAt } = await delays.schedule('test.beside', null, { after: 100, key: 'beside' });
    await overdueByASecond('beside');

    await cluster.worker('heir', { serves: { 'test.plain': { does: 'note' } } });
    // The other node takes the row over, and gets it done, while the first one still blocks.
    await cluster.until<{ n: number }>(
      `SELECT count(*)::int AS n FROM delay_queue.delay WHERE key = 'k'`,
      ([row]) => row?.n === 0,
    );
    expect(seized.messages.filter(({ event }) => event)).toEqual([]);

    const blockedUntilMs = await databaseMs();
    letGo();
    await seized.waitFor(({ event, key }) => event === 'lost' && key === 'k');
    const { latenessMs } = await seized.waitFor(({ fired }) => fired === 'beside');
    expect(latenessMs).toBeGreaterThanOrEqual(blockedUntilMs - dueAt.getTime());
    await cluster.quiet();
    expect(
      await cluster.sql(`SELECT node, state, attempts FROM delay_queue.history WHERE key = 'k'`),
    ).toEqual([{ node: 'heir', state: 'completed', attempts: 2 }]);
  });
});

describe('a transactional attempt that stands still with the order in its hands', () => {
  it.each([
    ['because its event loop is blocked', 0, (): unknown => undefined],
    // Its session has run the statements before: the removal is sent with COMMIT.
    [
      'because its event loop is blocked, on a session that ran attempts before',
      2,
      (): unknown => undefined,
    ],
    ['because its process is paused', 0, (): unknown => seized.kill('SIGSTOP')],
  ])(
    '%s: the order is free while it still does, and its close is undone',
    async (_, runs, stop) => {
      await cluster.sql(
        `CREATE TABLE held_order AS SELECT 'k'::text AS id, 'UNPAID'::text AS status`,
      );
      const { delays } = await cluster.producer();
      for (let run = 0; run < runs; run += 1) {
        const key = `before-${run}`;
        await delays.schedule('test.fenced', null, { after: 0, key });
        await seized.waitFor((message) => message.event === 'completed' && message.key === key);
      }
      await delays.schedule('test.fenced', null, { after: 0, key: 'k' });
      await seized.waitFor((message) => message.seized === 'k');
      await stop();

      // Waits for the lock of the order, which nothing but the end of that session sets free.
      const payer = await cluster.session();
      const paid = await payer.query(
        `UPDATE held_order SET status = 'PAID' WHERE id = 'k' AND status = 'UNPAID'`,
      );
      expect(paid.rowCount).toBe(1);
      expect(seized.messages.filter(({ event, key }) => event && key === 'k')).toEqual([]);

      const heir = { does: 'note', fenced: true, timeout: '2s' } as const;
      await cluster.worker('heir', { serves: { 'test.fenced': heir } });
      await cluster.quiet();
      letGo();
      await seized.kill('SIGCONT');
      await seized.waitFor(({ event, key }) => event === 'lost' && key === 'k');
      expect(await cluster.sql('SELECT status FROM held_order')).toEqual([{ status: 'PAID' }]);
      expect((await cluster.ledger()).map(({ node, attempt }) => ({ node, attempt }))).toEqual([
        { node: 'heir', attempt: 2 },
      ]);
    },
  );
});
