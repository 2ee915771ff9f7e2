/**
 * 50 payments arrive about when their orders close, and the worker is killed while it closes four more. In the end
 * each order is paid or closed, once, and the stock is exact.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { audit } from './ledger';
import { Processes } from './processes';
import { Shopper } from './shopper';

const PAYMENTS = 50;
const UNPAID = 4;
/** Payments are this far before and behind the closes of their orders. */
const AROUND_MS = 1_500;
const AT_ONCE = 6;
const CHARGES = join(process.cwd(), 'charges.txt');

interface Placed {
  id: string;
  shopper: Shopper;
  isPaid: boolean;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Waits for what another process writes. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + 120_000;
  while (!(await holds())) {
    if (Date.now() > deadlineMs) throw new Error(`waited in vain until ${what}`);
    await sleep(50);
  }
}

async function place(shopApi: string, database: Pool): Promise<Placed[]> {
  const { rows } = await database.query(`SELECT id::text FROM product_variant ORDER BY id`);
  const placed: Placed[] = [];
  const numbers = Array.from({ length: PAYMENTS + UNPAID }, (_, number) => number).values();
  const shop = async (): Promise<void> => {
    for (const number of numbers) {
      const lines = rows.map(({ id }, index) => ({
        variant: id,
        quantity: 1 + ((number + index) % 3),
      }));
      // Half of the orders have their lines the other way round.
      if (number % 2 === 1) lines.reverse();
      const shopper = new Shopper(shopApi);
      const { id } = await shopper.checkOut(lines);
      const isPaid = number < PAYMENTS / 2 || number >= PAYMENTS / 2 + UNPAID;
      placed.push({ id, shopper, isPaid });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, shop));
  return placed;
}

/** Each at an instant of its own around the close. @returns the answers, by the orders' ids */
async function pay(placed: readonly Placed[], database: Pool): Promise<Map<string, string>> {
  const { rows } = await database.query(
    `SELECT key, extract(epoch FROM due_at)::float8 * 1000 AS "dueMs" FROM delay_queue.delay`,
  );
  assert.equal(rows.length, placed.length, 'a close was due before all orders were placed');
  const dueMs = new Map(rows.map((row) => [row.key, row.dueMs]));
  const paying = placed.filter(({ isPaid }) => isPaid);
  const answers = paying.map(async ({ id, shopper }, index): Promise<[string, string]> => {
    // 7 has no divisor in common with their number, so neighbours pay at different distances.
    const share = ((index * 7) % paying.length) / paying.length;
    await sleep(dueMs.get(id) - Date.now() + (2 * share - 1) * AROUND_MS);
    return [id, await shopper.pay()];
  });
  return new Map(await Promise.all(answers));
}

/** Holds the rows of orders until their handlers wait for them, kills the worker, and starts another. */
async function killAmidCloses(
  unpaid: readonly string[],
  database: Pool,
  kill: () => Promise<unknown>,
): Promise<void> {
  const holder = await database.connect();
  try {
    await holder.query('BEGIN');
    await holder.query(`SELECT FROM "order" WHERE id = ANY($1::int[]) FOR UPDATE`, [unpaid]);
    const { rows } = await holder.query(`SELECT pg_backend_pid() AS pid`);
    // They hold their delays as well: Vendure's services work in the attempts' own transactions.
    await until('the attempts wait for their orders', async () => {
      const { rowCount } = await database.query(
        `SELECT DISTINCT pid FROM pg_locks
         WHERE relation = 'delay_queue.delay'::regclass AND $1 = ANY(pg_blocking_pids(pid))`,
        [rows[0].pid],
      );
      return rowCount === unpaid.length;
    });
    await kill();
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
}

async function trial(): Promise<void> {
  const port = await freePort();
  const processes = new Processes({ PORT: String(port), CHARGES, CLOSE_AFTER: '40s' });
  const database = new Pool({ connectionString: process.env.DATABASE_URL });
  try {
    await processes.run('set-up');
    const [worker] = await Promise.all([processes.start('worker'), processes.start('server')]);
    const placed = await place(`http://127.0.0.1:${port}/shop`, database);
    const unpaid = placed.filter(({ isPaid }) => !isPaid).map(({ id }) => id);
    const [answers] = await Promise.all([
      pay(placed, database),
      killAmidCloses(unpaid, database, () => processes.kill(worker)).then(() =>
        processes.start('worker'),
      ),
    ]);
    await until('no delay is left', async () => {
      const { rowCount } = await database.query(`SELECT FROM delay_queue.delay`);
      return rowCount === 0;
    });
    const counts: Record<string, number> = {};
    for (const answer of answers.values()) counts[answer] = (counts[answer] ?? 0) + 1;
    console.log(
      `${answers.size} payments against closes ${JSON.stringify(counts)},`,
      `${unpaid.length} closes killed with their worker:`,
    );
    console.log(await audit(database, placed, answers, CHARGES));
  } finally {
    await processes.stop();
    await database.end();
  }
}

trial().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
