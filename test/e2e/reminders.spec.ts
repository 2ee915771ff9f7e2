import { describe, expect, it } from '@jest/globals';
import type { DelayRun } from 'nestjs-delay-queue/testing';
import type { MerchantView } from '../../src/shop/merchants/merchants.schemas.js';
import { TIME_ZONES } from '../../src/shop/merchants/time-zones.js';
import { RunningShop } from './support/running-shop.js';

const HOUR_MS = 3_600_000;

const hourIn = (timeZone: string, instant: string): string =>
  new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone }).format(new Date(instant));

const zonesOf = (runs: DelayRun[]) =>
  runs.filter(({ name }) => name === 'merchant.remind').map(({ key }) => key);

describe('merchants who have orders to ship', () => {
  // What is shipped stays so, and is not confirmed before the next morning.
  const shop = RunningShop.inItsTime({ confirmAfterMs: 30 * 24 * HOUR_MS });

  const merchant = async (id: string): Promise<MerchantView> => {
    const { body } = await shop.get('/merchants');
    return body.find((found: MerchantView) => found.id === id);
  };
  const told = (id: string) =>
    shop.sql<{ orders: number; at: Date }[]>(
      `SELECT orders, due_at AS at FROM merchant_reminder WHERE merchant_id = $1 ORDER BY due_at`,
      [id],
    );
  /** A paid order of that merchant, which nobody has shipped. */
  const waiting = async (id: string): Promise<string> => {
    const sku = await shop.newSku();
    await shop.sql(`UPDATE sku SET merchant_id = $2 WHERE sku = $1`, [sku, id]);
    const order = await shop.place(sku);
    await shop.act(order.id, 'pay');
    return order.id;
  };

  it('are reminded at nine in their own time zone, every morning until the orders are shipped', async () => {
    const orders = [await waiting('kiln'), await waiting('kiln')];
    // Of an order under dispute nobody hears.
    const disputed = await waiting('tea-house');
    await shop.act(disputed, 'dispute', { reason: 'a test' });
    const { nextReminderAt } = await merchant('kiln');
    const toNineMs = Date.parse(nextReminderAt!) - shop.time.now().getTime();
    const runs = await shop.time.advance(toNineMs + HOUR_MS);
    expect(zonesOf(runs).filter((zone) => zone === 'Asia/Tokyo')).toHaveLength(1);
    const [first, ...more] = await told('kiln');
    expect([first!.orders, more]).toEqual([2, []]);
    expect((await merchant('kiln')).lastReminder).toMatchObject({ at: first!.at.toISOString() });
    expect(first!.at.toISOString()).toBe(nextReminderAt);
    expect(hourIn('Asia/Tokyo', nextReminderAt!)).toBe('09:00');

    await shop.act(orders[0]!, 'ship');
    await shop.time.advance('24h');
    expect((await told('kiln')).map((reminder) => reminder.orders)).toEqual([2, 1]);
    await shop.act(orders[1]!, 'ship');
    await shop.time.advance('24h');
    expect(await told('kiln')).toHaveLength(2);
    expect(await told('tea-house')).toEqual([]);
  });

  it('who move are reminded at nine where they are now', async () => {
    const move = (timeZone: string) =>
      shop.send('PATCH', '/merchants/kiln', JSON.stringify({ timeZone }));
    const { terms } = await merchant('kiln');
    expect((await move('Mars/Olympus')).body.detail).toMatch(/^timeZone: /);
    const { body } = await move('Europe/Berlin');
    expect(body).toMatchObject({ timeZone: 'Europe/Berlin', terms, own: [] });
    const [next] = await shop.sql<{ at: Date }[]>(
      `SELECT due_at AS at FROM delay_queue.delay WHERE key = 'Europe/Berlin'`,
    );
    expect(body.nextReminderAt).toBe(next!.at.toISOString());
    await move('Asia/Tokyo');
  });

  it('are reminded when somebody asks for it and in the morning as always, and once after mornings without a process', async () => {
    await waiting('kiln');
    const before = (await told('kiln')).length;
    const { nextReminderAt } = await merchant('kiln');
    expect((await shop.post('/merchants/kiln/remind')).status).toBe(200);
    expect(zonesOf(await shop.time.drain())).toEqual(['Asia/Tokyo']);
    const now = await merchant('kiln');
    expect(now).toMatchObject({ lastReminder: { orders: 1 }, nextReminderAt });
    expect(Date.parse(now.lastReminder!.at)).toBeLessThan(Date.parse(nextReminderAt!));
    expect((await shop.post('/merchants/nobody/remind')).status).toBe(404);

    // Three days pass at once: what was due meanwhile runs when somebody is there again.
    await shop.sql(
      `UPDATE delay_queue.delay SET due_at = due_at - interval '72 hours',
              wake_at = wake_at - interval '72 hours'
       WHERE name = 'merchant.remind'`,
    );
    expect(zonesOf(await shop.time.drain())).toHaveLength(TIME_ZONES.length);
    expect(await told('kiln')).toHaveLength(before + 2);
  });
});
