import { expect, it } from '@jest/globals';
import { PrismaPg } from '@prisma/adapter-pg';
import { fromPrisma } from 'nestjs-delay-queue/adapters';
import { Client, Pool } from 'pg';
import { findPython } from '../support/other-languages.js';
import { NodeProcess } from '../support/node-process.js';
import { OneNode } from '../support/one-node.js';
import { until } from '../support/until.js';
import { PrismaClient } from './generated/client.js';
import { Till } from './till.js';

const ORDERS = 2_000;
/** Most orders are paid within so long of their close, before or behind. */
const AROUND_MS = 60;

/** Of twenty, one long before and one long behind: on any machine both sides win some. */
function awayMs(id: number): number {
  if (id % 20 < 2) return id % 20 === 0 ? -500 : 5_000;
  return ((id * 7) % (2 * AROUND_MS)) - AROUND_MS;
}

const node = new OneNode({ options: { worker: false } });

/** Places and pays one order, with its delay. @returns whether it was paid in time */
interface Door {
  place(id: number, at: Date): Promise<unknown>;
  pay(id: number): Promise<boolean>;
}

const PAY = `UPDATE purchases SET status = 'PAID' WHERE id = $1 AND status = 'UNPAID'`;

const doors = (prisma: PrismaClient, inSql: Door): Door[] => [
  {
    place: (id, at) =>
      prisma.$transaction(async (tx) => {
        await tx.purchases.create({ data: { id } });
        const how = { at, key: String(id), tx: fromPrisma(tx) };
        await node.delays.schedule('test.own', null, how);
      }),
    pay: (id) =>
      prisma.$transaction(async (tx) => {
        const where = { id, status: 'UNPAID' };
        const { count } = await tx.purchases.updateMany({ where, data: { status: 'PAID' } });
        await node.delays.cancel('test.own', String(id), { tx: fromPrisma(tx) });
        return count === 1;
      }),
  },
  {
    place: (id, at) =>
      node.dataSource.transaction(async (manager) => {
        await manager.query('INSERT INTO purchases VALUES ($1)', [id]);
        await node.delays.schedule('test.own', null, { at, key: String(id), manager });
      }),
    pay: (id) =>
      node.dataSource.transaction(async (manager) => {
        const [, count] = await manager.query<[unknown, number]>(PAY, [id]);
        await node.delays.cancel('test.own', String(id), { manager });
        return count === 1;
      }),
  },
  inSql,
];

/** In the place of Python, where that is absent. */
function pgDoor(pool: Pool): Door {
  const inSql = async <T>(work: (client: { query: Client['query'] }) => Promise<T>): Promise<T> => {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      const result = await work(client);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  };
  return {
    place: (id, at) =>
      inSql(async (client) => {
        await client.query('INSERT INTO purchases VALUES ($1)', [id]);
        const how = `SELECT delay_queue.schedule('test.own', due_at => $1, key => $2)`;
        await client.query(how, [at, String(id)]);
      }),
    pay: (id) =>
      inSql(async (client) => {
        const { rowCount } = await client.query(PAY, [id]);
        await client.query(`SELECT delay_queue.cancel('test.own', $1)`, [String(id)]);
        return rowCount === 1;
      }),
  };
}

const python = findPython('The race goes through pg in its place.');

it(`pays or closes each of 2,000 orders once, placed by Prisma, TypeORM and ${python?.driver ?? 'pg'}, while a worker dies`, async () => {
  const { url } = node.dataSource.options as { url: string };
  process.env['DATABASE_URL'] = url;
  await node.sql(
    `CREATE TABLE purchases (id int PRIMARY KEY, status text NOT NULL DEFAULT 'UNPAID', closes int NOT NULL DEFAULT 0)`,
  );
  const start = async () => {
    const worker = NodeProcess.start<{ ready: boolean }>('test/orms/race-worker.ts');
    await worker.waitFor(({ ready }) => ready);
    return worker;
  };
  const workers = await Promise.all([start(), start()]);
  const prisma = new PrismaClient({
    adapter: new PrismaPg({ connectionString: url }),
    // On a busy machine many payers wait for a connection: for longer than the two seconds of the default.
    transactionOptions: { maxWait: 90_000, timeout: 90_000 },
  });
  const pool = new Pool({ connectionString: url, max: 10 });
  const till = python && new Till(python.command, url);
  try {
    const all = doors(prisma, till ?? pgDoor(pool));
    const doorOf = (id: number): Door => all[id % all.length]!;
    const beginsAtMs = Date.now() + 8_000;
    const dueMs = (id: number): number => beginsAtMs + id * 4;
    const ids = Array.from({ length: ORDERS }, (_, id) => id);
    const placing = ids.values();
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (const id of placing) await doorOf(id).place(id, new Date(dueMs(id)));
      }),
    );
    const paying = ids.map(async (id) => {
      await new Promise((go) => setTimeout(go, dueMs(id) + awayMs(id) - Date.now()));
      // By another door than the one that placed it.
      return await doorOf(id + 1).pay(id);
    });
    await until(
      () => node.sql(`SELECT FROM purchases WHERE status = 'CLOSED'`),
      ({ length }) => length > ORDERS / 8,
    );
    await workers[0]!.kill('SIGKILL');
    workers[0] = await start();
    const isPaid = await Promise.all(paying);
    await until(
      () => node.sql('SELECT key FROM delay_queue.delay'),
      ({ length }) => length === 0,
    );
    const orders = await node.sql<{ id: number; status: string; closes: number }>(
      'SELECT * FROM purchases ORDER BY id',
    );
    expect(orders).toEqual(
      ids.map((id) => ({
        id,
        status: isPaid[id] ? 'PAID' : 'CLOSED',
        closes: isPaid[id] ? 0 : 1,
      })),
    );
    const paid = isPaid.filter(Boolean).length;
    expect(Math.min(paid, ORDERS - paid)).toBeGreaterThanOrEqual(ORDERS / 20);
  } finally {
    for (const worker of workers) await worker.kill('SIGKILL');
    await prisma.$disconnect();
    await pool.end();
    await till?.close();
  }
});
