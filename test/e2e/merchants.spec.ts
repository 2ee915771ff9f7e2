import { afterEach, describe, expect, it } from '@jest/globals';
import type { MerchantView } from '../../src/shop/merchants/merchants.schemas.js';
import type { OrderView } from '../../src/shop/orders/orders.schemas.js';
import { RunningShop } from './support/running-shop.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Minutes. */
const DAY = 24 * 60;

/** No terms of its own. */
const OF_THE_SHOP = {
  payWithin: null,
  remindBefore: null,
  smsAfter: null,
  confirmAfter: null,
  rateAfter: null,
};

/** In how many minutes after placing each of its delays is due: both stamps are of one transaction. */
const waits = ({ delays, timeline }: OrderView): Record<string, number> => {
  const placedAt = Date.parse(timeline[0]!.at);
  return Object.fromEntries(
    delays.map(({ name, dueAt }) => [name, Math.round((Date.parse(dueAt) - placedAt) / MINUTE_MS)]),
  );
};

describe('merchants', () => {
  const shop = RunningShop.forAll({ remindBeforeMs: HOUR_MS / 2, smsAfterMs: HOUR_MS / 4 });
  afterEach(() => change('kiln', OF_THE_SHOP));

  const change = (id: string, body: unknown) =>
    shop.send('PATCH', `/merchants/${id}`, JSON.stringify(body));
  const merchants = async (): Promise<MerchantView[]> => (await shop.get('/merchants')).body;

  /** What each of the two sells. */
  const newSkus = async () => {
    const [one, other] = [await shop.newSku(), await shop.newSku()];
    await shop.sql(`UPDATE sku SET merchant_id = 'kiln' WHERE sku = $1`, [other]);
    return { ofTeaHouse: one, ofKiln: other };
  };

  const groupsOf = async (id: string): Promise<string[]> => {
    const rows = await shop.sql<{ is: string }[]>(
      `SELECT name || ' ' || group_id AS is FROM delay_queue.delay WHERE key = $1 ORDER BY name`,
      [id],
    );
    return rows.map((row) => row.is);
  };

  it('are groups: every delay of an order is in that of its merchant, to its end', async () => {
    const { ofKiln } = await newSkus();
    const { id } = await shop.place(ofKiln);
    const messages = ['order.remind kiln', 'order.sms kiln'];
    expect(await groupsOf(id)).toEqual(['order.close kiln', ...messages]);
    const steps: [timer: string, actions: string[]][] = [
      ['order.confirm', ['pay', 'ship']],
      ['order.confirm', ['dispute', 'release', 'extend']],
      ['order.rate', ['confirm']],
    ];
    for (const [timer, actions] of steps) {
      for (const action of actions) await shop.act(id, action, { reason: 'nothing arrived' });
      expect(await groupsOf(id)).toEqual([`${timer} kiln`, 'order.sms kiln']);
    }
  });

  it('set how long everything takes with orders placed from then on, and not with those of others', async () => {
    const { ofTeaHouse, ofKiln } = await newSkus();
    const terms = {
      payWithinMs: HOUR_MS,
      remindBeforeMs: HOUR_MS / 2,
      smsAfterMs: HOUR_MS / 4,
      confirmAfterMs: HOUR_MS,
      rateAfterMs: HOUR_MS,
    };
    const kiln = { id: 'kiln', name: 'The kiln', timeZone: 'Asia/Tokyo' };
    expect(await merchants()).toMatchObject([
      { ...kiln, terms, own: [], skus: expect.arrayContaining(['BOWL-RAKU', ofKiln]) },
      { id: 'tea-house', terms, own: [] },
    ]);
    const changed = await change('kiln', {
      payWithin: '2d',
      remindBefore: '1d',
      smsAfter: 'off',
      confirmAfter: '30d',
      rateAfter: '10d',
    });
    const own = {
      payWithinMs: 2 * DAY_MS,
      remindBeforeMs: DAY_MS,
      smsAfterMs: null,
      confirmAfterMs: 30 * DAY_MS,
      rateAfterMs: 10 * DAY_MS,
    };
    expect(changed).toMatchObject({
      status: 200,
      body: { id: 'kiln', terms: own, own: Object.keys(own) },
    });
    const { id } = await shop.place(ofKiln);
    const waiting = await shop.order(id);
    expect(waits(waiting)).toEqual({ 'order.close': 2 * DAY, 'order.remind': DAY });

    await change('kiln', { payWithin: '1m', confirmAfter: '1m', rateAfter: '1m' });

    const { serverNow: _, ...same } = waiting;
    expect(await shop.order(id)).toMatchObject(same);
    await shop.act(id, 'pay');
    expect(waits(await shop.act(id, 'ship'))).toEqual({ 'order.confirm': 30 * DAY });
    expect(waits(await shop.act(id, 'extend'))).toEqual({ 'order.confirm': 60 * DAY });
    expect(waits(await shop.act(id, 'confirm'))).toEqual({ 'order.rate': 10 * DAY });

    const ours = await shop.order((await shop.place(ofTeaHouse)).id);
    expect(ours.merchant).toBe('tea-house');
    expect(waits(ours)).toEqual({ 'order.close': 60, 'order.remind': 30, 'order.sms': 15 });
  });

  it('who gives less time to pay than a reminder comes before its end reminds nobody', async () => {
    const { ofKiln } = await newSkus();
    const { body } = await change('kiln', { payWithin: '10m' });
    expect(body.terms).toMatchObject({ payWithinMs: HOUR_MS / 6, remindBeforeMs: null });
    const { id } = await shop.place(ofKiln);
    expect(Object.keys(waits(await shop.order(id)))).toEqual(['order.close', 'order.sms']);
  });

  it('an order is of one merchant', async () => {
    const { ofTeaHouse, ofKiln } = await newSkus();
    const items = [ofTeaHouse, ofKiln].map((sku) => ({ sku, quantity: 1 }));
    const answer = await shop.post('/orders', { items });
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toMatch(/^items: .* different merchants/);
    expect(await shop.stockOf(ofKiln)).toBe(10);
  });

  it('take those of the shop again, and change nothing with what cannot be', async () => {
    await change('kiln', { payWithin: '2h', rateAfter: '1d' });
    expect((await change('kiln', { payWithin: 'off' })).body.detail).toMatch(/^payWithin: /);
    await change('kiln', { payWithin: null });
    expect((await merchants())[0]).toMatchObject({
      own: ['rateAfterMs'],
      terms: { payWithinMs: HOUR_MS, rateAfterMs: DAY_MS },
    });
  });
});
