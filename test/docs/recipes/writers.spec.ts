import { expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { recipe } from '../page.js';

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

it('other-writers.md: a trigger schedules, another service cancels, with no more rights than it says', async () => {
  const [page, { pay }] = await recipe('other-writers.md');
  const app = await page.start();
  await page.sql(`INSERT INTO orders VALUES ('a'), ('b')`);
  expect(await app.waitsSeconds('order.close', 'a')).toBe(30 * 60);
  expect(await app.find('order.close', 'b')).toMatchObject({ payload: { orderId: 'b' } });

  const till = `till_${randomBytes(5).toString('hex')}`;
  await page.sql(`CREATE ROLE ${till} LOGIN PASSWORD 'secret'`);
  const url = new URL(page.database.url);
  [url.username, url.password] = [till, 'secret'];
  const client = new Client({ connectionString: url.href });
  try {
    await page.sql(`GRANT USAGE ON SCHEMA public, delay_queue TO ${till};
      GRANT EXECUTE ON FUNCTION delay_queue.schedule, delay_queue.cancel TO ${till};
      GRANT SELECT, INSERT, UPDATE ON orders TO ${till}`);
    await client.connect();
    expect(await pay(client, 'a')).toBe(true);
    expect(await pay(client, 'a')).toBe(false);
    await client.query(`INSERT INTO orders VALUES ('c')`);
  } finally {
    await client.end();
    await page.sql(`DROP OWNED BY ${till}; DROP ROLE ${till}`);
  }
  expect(await app.find('order.close', 'a')).toBeNull();
  expect(await app.delays.history('order.close', 'a')).toMatchObject([{ state: 'cancelled' }]);
  expect(await app.waitsSeconds('order.close', 'c')).toBe(30 * 60);
});
