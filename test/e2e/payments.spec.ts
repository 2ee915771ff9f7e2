import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { RunningShop } from './support/running-shop.js';

describe('money', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open();
  });
  afterEach(() => shop.mustHold());
  afterAll(() => shop.close());

  const newOrder = async () => shop.place(await shop.newSku());

  /** All workers were down: the deadline is over and nobody has closed the order yet. */
  const overdue = async () => {
    const order = await newOrder();
    await shop.sql(
      `UPDATE orders SET pay_deadline = clock_timestamp() - interval '1 second' WHERE id = $1`,
      [order.id],
    );
    return order;
  };

  it('that a provider reports pays the order and cancels its close', async () => {
    const { id, total } = await newOrder();
    const answer = await shop.callback(id, total);
    expect(answer).toMatchObject({ status: 200, body: { status: 'CAPTURED', repeated: false } });
    expect(await shop.order(id)).toMatchObject({
      status: 'PAID',
      payments: [{ status: 'CAPTURED', amount: total, provider: 'test' }],
      delays: [],
    });
  });

  it('that is reported twice changes nothing the second time', async () => {
    const [{ id, total }, transaction] = [await newOrder(), randomUUID()];
    const first = await shop.callback(id, total, transaction);
    const second = await shop.callback(id, total, transaction);
    expect(second).toEqual({
      status: 200,
      body: { paymentId: first.body.paymentId, status: 'CAPTURED', repeated: true },
    });
    expect((await shop.order(id)).payments).toHaveLength(1);
  });

  it('that is reported many times at once is kept once', async () => {
    const [{ id, total }, transaction] = [await newOrder(), randomUUID()];
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => shop.callback(id, total, transaction)),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(answers.filter(({ body }) => !body.repeated)).toHaveLength(1);
    expect((await shop.order(id)).payments).toMatchObject([{ status: 'CAPTURED' }]);
  });

  it('that two transactions bring at once is kept once and refunded once', async () => {
    const { id, total } = await newOrder();
    await Promise.all([shop.callback(id, total), shop.callback(id, total)]);
    const order = await shop.orderWhen(id, ({ payments }) =>
      payments.some(({ status }) => status === 'REFUNDED'),
    );
    expect(order.status).toBe('PAID');
    expect(order.payments.map(({ status }) => status).toSorted()).toEqual(['CAPTURED', 'REFUNDED']);
  });

  it('that was already taken is kept for an overdue order that is still unpaid', async () => {
    const { id, total } = await overdue();
    expect((await shop.callback(id, total)).status).toBe(200);
    expect((await shop.order(id)).status).toBe('PAID');
  });

  it('is not taken any more for an overdue order', async () => {
    const { id } = await overdue();
    const answer = await shop.post(`/orders/${id}/pay`);
    expect(answer.status).toBe(409);
    expect(answer.body.detail).toContain('the time to pay is over');
    expect(await shop.order(id)).toMatchObject({ status: 'UNPAID', payments: [] });
  });

  it.each([
    ['too little', -1],
    ['too much', 1],
  ])('of %s goes back, and the order can still be paid', async (_, difference) => {
    const { id, total } = await newOrder();
    await shop.callback(id, total + difference);
    const order = await shop.orderWhen(id, ({ payments }) => payments[0]?.status === 'REFUNDED');
    expect(order).toMatchObject({
      status: 'UNPAID',
      payments: [{ refundReason: `paid ${total + difference} instead of ${total}` }],
    });
    expect((await shop.act(id, 'pay')).status).toBe('PAID');
  });

  it('for an order that nobody knows goes back, too', async () => {
    const unknown = randomUUID();
    const answer = await shop.callback(unknown, 500);
    expect(answer).toMatchObject({ status: 200, body: { status: 'REFUND_PENDING' } });
    await shop.paymentWhen(answer.body.paymentId, 'REFUNDED');
  });

  it('counts also when its report says more than the shop knows, and says it otherwise again', async () => {
    const { id, total } = await newOrder();
    const report = { orderId: id, provider: 'test', transaction: randomUUID(), amount: total };
    const more = { ...report, fee: 3, card: { brand: 'a card' } };
    const first = await shop.post('/payments/callback', more);
    expect(first).toMatchObject({ status: 200, body: { status: 'CAPTURED', repeated: false } });
    const again = await shop.post('/payments/callback', { ...report, attempt: 2 });
    expect(again).toMatchObject({ status: 200, body: { ...first.body, repeated: true } });
    expect(await shop.order(id)).toMatchObject({ status: 'PAID', payments: [{ amount: total }] });
  });

  it('is paid by many clicks at once only once', async () => {
    const { id } = await newOrder();
    const clicks = await Promise.all(
      Array.from({ length: 8 }, () => shop.post(`/orders/${id}/pay`)),
    );
    expect(clicks.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await shop.order(id)).payments).toHaveLength(1);
  });

  it('finds its order whatever the case of the id', async () => {
    const { id, total } = await newOrder();
    await shop.callback(id.toUpperCase(), total);
    expect(await shop.order(id.toUpperCase())).toMatchObject({ id, status: 'PAID', delays: [] });
  });

  it.each([
    ['orderId', 'order-42'],
    ['provider', ''],
    ['transaction', 'a\u0000b'],
    ['amount', 12.5],
    ['amount', 0],
    ['amount', 2 ** 31],
  ])('is refused when the report is malformed: %s %j', async (field, value) => {
    const report = { orderId: randomUUID(), provider: 'test', transaction: 'tx', amount: 100 };
    const answer = await shop.post('/payments/callback', { ...report, [field]: value });
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toMatch(new RegExp(`^${field}: `));
  });
});
