import { expect, it } from '@jest/globals';
import { type App, type Page, recipe } from '../page.js';

const MINUTE_MS = 60_000;

/** An application that only schedules. */
const producerOn = (page: Page): Promise<App> => page.start([], { worker: false });

const delaysOn = async (page: Page): Promise<number> =>
  (await page.sql('SELECT FROM delay_queue.delay')).length;

it('move-from-another-tool.md: from a scan, the backfill gives each unpaid order its close, and moves none that waits; the reconciler tells what nothing will close, once', async () => {
  const [page, { backfill, Reconciler }] = await recipe('move-from-another-tool.md');
  const app = await page.start([Reconciler], { worker: false });
  await page.sql(
    `INSERT INTO orders
   SELECT 'order-' || n, CASE n WHEN 10 THEN 'PAID' ELSE 'UNPAID' END,
          date_trunc('milliseconds', clock_timestamp() + interval '1 hour')
   FROM generate_series(1, 1100) AS n`,
  );
  const payload = { orderId: 'order-1' };
  const waits = { after: '3h', key: 'order-1' };
  const { dueAt } = await app.delays.schedule('order.close', payload, waits);
  expect(await backfill(page.dataSource, app.delays)).toBe(1_098);
  expect(await backfill(page.dataSource, app.delays)).toBe(0);
  expect(await app.find('order.close', 'order-1')).toMatchObject({ dueAt });
  const [order] = await page.sql(`SELECT pay_deadline FROM orders WHERE id = 'order-999'`);
  expect(await app.find('order.close', 'order-999')).toMatchObject({
    dueAt: order?.['pay_deadline'],
  });
  expect(await app.find('order.close', 'order-10')).toBeNull();

  await page.sql(
    `INSERT INTO orders VALUES
     ('lost', 'UNPAID', clock_timestamp() - interval '1 hour'),
     ('late', 'UNPAID', clock_timestamp() - interval '1 hour'),
     ('paid', 'PAID', clock_timestamp() - interval '1 hour'),
     ('fresh', 'UNPAID', clock_timestamp() - interval '1 minute')`,
  );
  await app.scheduleNow('order.close', ['late'], (orderId) => ({ orderId }));
  expect(await app.get(Reconciler).reconcile()).toEqual(['lost']);
  expect(await app.get(Reconciler).reconcile()).toEqual([]);
  expect(await app.find('order.close', 'lost')).not.toBeNull();
});

it('move-from-another-tool.md: from BullMQ, each job becomes a delay at its time, also when the first try had died (a map stands in for BullMQ)', async () => {
  const [page, { moveJobs }] = await recipe('move-from-another-tool.md');
  const app = await producerOn(page);
  const timestamp = Date.now();
  const jobs = new Map(
    Array.from({ length: 510 }, (_, n) => {
      const data = { couponId: `coupon-${n}` };
      return [`job-${n}`, { id: `job-${n}`, data, timestamp, delay: MINUTE_MS + n }];
    }),
  );
  let dies = true;
  const queue = {
    getDelayed: async (start: number, end: number) => [...jobs.values()].slice(start, end + 1),
    remove: async (id: string) => {
      if (dies) throw new Error('Redis is away');
      // Somebody took it just now.
      return Number(jobs.delete(id) && id !== 'job-7');
    },
  };
  await expect(moveJobs(queue, app.delays)).rejects.toThrow('Redis is away');
  const repeated = { getDelayed: async () => [{ id: 'r', repeatJobKey: 'daily' }] };
  await expect(moveJobs(repeated, app.delays)).rejects.toThrow('remove its schedulers first');
  dies = false;
  expect(await moveJobs(queue, app.delays)).toBe(509);
  expect(await app.find('coupon.expire', 'coupon-509')).toMatchObject({
    dueAt: new Date(timestamp + MINUTE_MS + 509),
  });
  expect(await delaysOn(page)).toBe(510);
});
