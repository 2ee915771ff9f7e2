/**
 * The last five jars are sold five times. 50 payments arrive about when their orders close, and a worker is killed
 * while it closes four more. In the end each order is paid or closed, once, and the stock is exact.
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
  const { rows } = await database.query(
    `SELECT id::text FROM product_variant WHERE sku <> 'jar' ORDER BY id`,
  );
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
      await shopper.fill(lines);
      const { id } = await shopper.checkOut();
      const isPaid = number < PAYMENTS / 2 || number >= PAYMENTS / 2 + UNPAID;
      placed.push({ id, shopper, isPaid });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, shop));
  return placed;
}

/** More customers than jars check out at once. @returns the orders of those who get one; none pays */
async function placeLast(shopApi: string, database: Pool): Promise<{ id: string }[]> {
  const { rows } = await database.query(
    `SELECT v.id::text AS variant, 1 AS quantity, s."stockOnHand" AS stock FROM product_variant v
     JOIN stock_level s ON s."productVariantId" = v.id WHERE v.sku = 'jar'`,
  );
  const shoppers = Array.from({ length: 3 * rows[0].stock }, () => new Shopper(shopApi));
  await Promise.all(shoppers.map((shopper) => shopper.fill(rows)));
  const ends = await Promise.allSettled(shoppers.map((shopper) => shopper.checkOut()));
  const placed = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  assert.equal(placed.length, rows[0].stock, 'checkouts of the last jars');
  return placed;
}

/** Each at an instant of its own around the close. @returns the answers, by the orders' ids */
async function pay(placed: readonly Placed[], database: Pool): Promise<Map<string, string>> {
  const { rows } = await database.query(
    `SELECT key, extract(epoch FROM due_at)::float8 * 1000 AS "dueMs" FROM delay_queue.delay`,
  );
  const dueMs = new Map(rows.map((row) => [row.key, row.dueMs]));
  const isLate = placed.some(({ id }) => !dueMs.has(id));
  assert.ok(!isLate, 'a close was due before all orders were placed');
  const paying = placed.filter(({ isPaid }) => isPaid);
  const answers = paying.map(async ({ id, shopper }, index): Promise<[string, string]> => {
    // 7 has no divisor in common with their number, so neighbours pay at different distances.
    const share = ((index * 7) % paying.length) / paying.length;
    await sleep(dueMs.get(id) - Date.now() + (2 * share - 1) * AROUND_MS);
    return [id, await shopper.pay()];
  });
  return new Map(await Promise.all(answers));
}

/** Holds the rows of orders until their handlers wait for them and another worker has taken over. */
async function killAmidCloses(
  unpaid: readonly string[],
  database: Pool,
  takeOver: () => Promise<void>,
): Promise<void> {
  const holder = await database.connect();
  try {
    await holder.query('BEGIN');
    await holder.query(`SELECT FROM "order" WHERE id = ANY($1::int[]) FOR UPDATE`, [unpaid]);
    const { rows } = await holder.query(`SELECT pg_backend_pid() AS pid`);
    // They lock their delays last: what a session waits for is its order, in the attempt's own transaction.
    await until('the attempts wait for their orders', async () => {
      const { rowCount } = await database.query(
        `SELECT DISTINCT pid FROM pg_locks WHERE NOT granted AND $1 = ANY(pg_blocking_pids(pid))`,
        [rows[0].pid],
      );
      return rowCount === unpaid.length;
    });
    await takeOver();
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
    const shopApi = `http://127.0.0.1:${port}/shop`;
    const last = await placeLast(shopApi, database);
    const placed = await place(shopApi, database);
    const unpaid = placed.filter(({ isPaid }) => !isPaid).map(({ id }) => id);
    const [answers] = await Promise.all([
      pay(placed, database),
      killAmidCloses(unpaid, database, async () => {
        await processes.start('worker');
        await processes.kill(worker);
      }),
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
    console.log(await audit(database, [...last, ...placed], answers, CHARGES));
  } finally {
    await processes.stop();
    await database.end();
  }
}

trial().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
