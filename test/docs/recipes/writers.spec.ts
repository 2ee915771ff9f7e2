import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { findGo, findPython, GO_ENV, printed } from '../../support/other-languages.js';
import { codeBlocks, readDocument } from '../documents.js';
import { type Page, recipe } from '../page.js';

it('deadlines.md: moves all with their deadlines or none', async () => {
  const [page, { WaitingOrders }] = await recipe('deadlines.md');
  const app = await page.start([WaitingOrders]);
  const orders = app.get(WaitingOrders);
  const before = new Map<string, number>();
  for (const orderId of ['a', 'b']) {
    const when = { after: '30m', key: orderId } as const;
    const { dueAt } = await app.delays.schedule('order.close', { orderId }, when);
    before.set(orderId, Number(dueAt));
    await page.sql(`INSERT INTO orders VALUES ($1, 'UNPAID', false, $2)`, [orderId, dueAt]);
  }
  expect(await orders.extendAll()).toMatchObject({ matched: 2, rescheduled: 2, running: 0 });
  for (const [orderId, dueMs] of before) {
    const dueAt = new Date(dueMs + 15 * 60_000);
    expect(await app.find('order.close', orderId)).toMatchObject({ dueAt });
    expect(await page.sql('SELECT pay_deadline FROM orders WHERE id = $1', [orderId])).toEqual([
      { pay_deadline: dueAt },
    ]);
  }
  // The deadlines of the orders cannot be written: no delay has moved.
  await page.sql(`ALTER TABLE orders ADD CHECK (pay_deadline < now() + interval '50 minutes')`);
  await expect(orders.extendAll()).rejects.toThrow('check constraint');
  const dueAt = new Date(Number(before.get('a')) + 15 * 60_000);
  expect(await app.find('order.close', 'a')).toMatchObject({ dueAt });
});

const PAGE = 'docs/recipes/sql-python-go.md';

/** A login of its own, for as long as the work takes, with rights on the tables of the page alone. */
async function asTill(
  page: Page,
  work: (till: string, url: string) => Promise<void>,
): Promise<void> {
  const till = `till_${randomBytes(5).toString('hex')}`;
  await page.sql(`CREATE ROLE ${till} LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA public TO ${till};
    GRANT SELECT, INSERT, UPDATE ON orders TO ${till}`);
  const url = new URL(page.database.url);
  [url.username, url.password] = [till, 'secret'];
  try {
    await work(till, url.href);
  } finally {
    await page.sql(`DROP OWNED BY ${till}; DROP ROLE ${till}`);
  }
}

it('sql-python-go.md: triggers schedule and cancel, with no more rights than it says', async () => {
  const [page] = await recipe('sql-python-go.md');
  const app = await page.start();
  await page.sql('INSERT INTO orders VALUES (1), (2)');
  expect(await app.waitsSeconds('order.close', '1')).toBe(30 * 60);
  expect(await app.find('order.close', '2')).toMatchObject({ payload: { orderId: 2 } });
  await page.sql('INSERT INTO orders VALUES (1) ON CONFLICT DO NOTHING');
  await page.sql(`UPDATE orders SET status = 'PAID' WHERE id = 1`);
  await page.sql(`UPDATE orders SET status = 'CLOSED' WHERE id = 2`);
  expect(await app.find('order.close', '1')).toBeNull();
  expect(await app.find('order.close', '2')).not.toBeNull();
  expect(await app.delays.history('order.close', '1')).toMatchObject([{ state: 'cancelled' }]);

  const [job = '', grants = ''] = codeBlocks(readDocument(PAGE), 'pgsql').map(({ code }) => code);
  const [, command = ''] = job.split('$$');
  await page.sql('INSERT INTO orders VALUES (3), (4)');
  for (const _ of [1, 2]) expect(await page.sql(command)).toEqual([{ count: '2' }]);

  await asTill(page, async (till, url) => {
    await page.sql(grants.replaceAll('till', till));
    const client = new Client({ connectionString: url });
    const refused = (sql: string) =>
      expect(client.query(sql)).rejects.toMatchObject({ code: '42501' });
    await client.connect();
    try {
      await client.query('INSERT INTO orders VALUES (5)');
      await refused(`UPDATE orders SET status = 'PAID' WHERE id = 5`);
      await page.sql(
        'ALTER FUNCTION close_no_more() SECURITY DEFINER SET search_path = pg_catalog, pg_temp',
      );
      await client.query(`UPDATE orders SET status = 'PAID' WHERE id = 5`);
      await refused(`SELECT delay_queue.cancel('order.close', '4')`);
      await refused(`SELECT FROM delay_queue.find('order.close', '4')`);
      await refused('SELECT FROM delay_queue.delay');
      const thrice = `SELECT (delay_queue.schedule('order.close', after => '1h')).*`;
      expect((await client.query(thrice)).rowCount).toBe(1);
    } finally {
      await client.end();
    }
  });
  expect(await app.find('order.close', '5')).toBeNull();
  const count = 'SELECT count(*)::int FROM delay_queue.delay WHERE key IS NULL';
  expect(await page.sql(count)).toEqual([{ count: 3 }]);
});

const python = findPython();
const go = findGo();

/** Each writes the program of the page into a folder. @returns how to run it */
const PROGRAMS: Record<
  string,
  [found: unknown, (code: string, folder: string) => Promise<string[]>]
> = {
  python: [
    python,
    async (code, folder) => {
      const { command, driver } = python!;
      const file = join(folder, 'orders.py');
      writeFileSync(file, code.replace(/^import psycopg /m, `import ${driver} as psycopg `));
      return [command, file];
    },
  ],
  go: [
    go,
    async (code, folder) => {
      writeFileSync(join(folder, 'orders.go'), code);
      expect(await printed(go!, ['build', 'orders.go'], { cwd: folder, env: GO_ENV })).toBe('');
      return [join(folder, 'orders')];
    },
  ],
};

describe.each(Object.entries(PROGRAMS))('sql-python-go.md', (language, [found, write]) => {
  const describeOnlyWithIt = found === undefined ? describe.skip : describe;
  describeOnlyWithIt(`in ${language}`, () => {
    it('places, pays and extends, and says what is refused', async () => {
      const [page] = await recipe('sql-python-go.md');
      await page.sql('DROP FUNCTION close_in_time, close_no_more CASCADE');
      const app = await page.start();
      const [block] = codeBlocks(readDocument(PAGE), language);
      const [command = '', ...args] = await write(block!.code, page.blocks.folder);
      await asTill(page, async (till, url) => {
        await page.sql(`GRANT USAGE ON SCHEMA delay_queue TO ${till};
        GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA delay_queue TO ${till}`);
        const env = { DATABASE_URL: `${url}?sslmode=disable` };
        const says = (...words: string[]) =>
          printed(command, [...args, ...words], { cwd: page.blocks.folder, env });

        expect(await says('place', '1')).toMatch(/^\d{4}-/);
        expect(await app.waitsSeconds('order.close', '1')).toBe(30 * 60);
        expect(await app.find('order.close', '1')).toMatchObject({ payload: { orderId: 1 } });
        expect(await says('extend', '1', '1 hour')).toBe('rescheduled');
        expect(await says('place', '1')).toMatch(/^23505\b/);
        // Its order is there, so the delay has kept its time.
        expect(await app.waitsSeconds('order.close', '1')).toBeGreaterThanOrEqual(60 * 60);
        expect(await says('extend', '1', '1 month')).toBe('DQ001 after');
        expect(await says('pay', '1')).toMatch(/^true$/i);
        expect(await says('pay', '1')).toMatch(/^false$/i);
        expect(await app.find('order.close', '1')).toBeNull();
        expect(await page.sql('SELECT status FROM orders')).toEqual([{ status: 'PAID' }]);
      });
    });
  });
});
