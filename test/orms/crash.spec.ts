import { expect, it } from '@jest/globals';
import { NodeProcess } from '../support/node-process.js';
import { OneNode } from '../support/one-node.js';
import { until } from '../support/until.js';
import type { Order, Stands } from './crash-worker.js';
import { ORMS } from './orms.js';

const node = new OneNode({ options: { worker: false } });

/** One process for all libraries: it dies when each of them stands before one COMMIT, and behind another. */
const ORDERS: readonly Order[] = Object.keys(ORMS)
  .flatMap((library) => ['before COMMIT', 'behind COMMIT'].map((diesAt) => ({ library, diesAt })))
  .map((order, id) => ({ ...order, id }));

/** @param isOver whether the process has done what it is there for; then it is killed */
async function runUntil(
  survives: 'yes' | 'no',
  isOver: (process: NodeProcess<Stands>) => Promise<unknown>,
): Promise<Stands[]> {
  const { url } = node.dataSource.options as { url: string };
  const started = NodeProcess.start<Stands>('test/orms/crash-worker.ts', {
    env: { DATABASE_URL: url, SURVIVES: survives },
  });
  try {
    await isOver(started);
    return started.messages;
  } finally {
    await started.kill('SIGKILL');
  }
}

it('a process that dies before or behind a COMMIT leaves one effect of each handler, whichever its library', async () => {
  await node.sql(
    `CREATE TABLE purchases (id int PRIMARY KEY, status text NOT NULL DEFAULT 'UNPAID')`,
  );
  for (const order of ORDERS) {
    await node.delays.schedule('test.own', { ...order }, { after: 0, key: String(order.id) });
  }
  const stood = await runUntil('no', (process) =>
    process.waitFor(() => new Set(process.messages.map(({ id }) => id)).size === ORDERS.length),
  );
  const history = () =>
    node.sql<{ id: number; state: string; attempts: number }>(
      'SELECT key::int AS id, state, attempts FROM delay_queue.history ORDER BY 1',
    );
  await runUntil('yes', () => until(history, ({ length }) => length === ORDERS.length));
  const attempts = new Map(stood.map(({ id, attempt }) => [id, attempt]));
  expect(await history()).toEqual(
    ORDERS.map(({ id, diesAt }) => ({
      id,
      state: 'completed',
      attempts: attempts.get(id)! + (diesAt === 'before COMMIT' ? 1 : 0),
    })),
  );
  expect(await node.sql('SELECT id FROM purchases ORDER BY id')).toEqual(
    ORDERS.map(({ id }) => ({ id })),
  );
  expect(await node.sql('SELECT key FROM delay_queue.delay')).toEqual([]);
});
