import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { RunningShop } from './support/running-shop.js';

describe('money', () => {
  const shop = RunningShop.forAll();

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

  it('that a provider reports pays the order and cancels its close; reported again it changes nothing', async () => {
    const [{ id, total }, transaction] = [await newOrder(), randomUUID()];
    // As a provider may: more than the shop knows, and the id as it likes to write it.
    const report = { orderId: id.toUpperCase(), provider: 'test', transaction, amount: total };
    const first = await shop.post('/payments/callback', { ...report, card: { brand: 'a card' } });
    expect(first).toMatchObject({ status: 200, body: { status: 'CAPTURED', repeated: false } });
    expect(await shop.order(id.toUpperCase())).toMatchObject({
      id,
      status: 'PAID',
      payments: [{ status: 'CAPTURED', amount: total, provider: 'test' }],
      delays: [],
    });
    expect(await shop.post('/payments/callback', { ...report, attempt: 2 })).toEqual({
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

  it('that was already taken is kept for an overdue order, and no new money is taken for one', async () => {
    const [taken, asked] = [await overdue(), await overdue()];
    expect((await shop.callback(taken.id, taken.total)).status).toBe(200);
    expect((await shop.order(taken.id)).status).toBe('PAID');

    const answer = await shop.post(`/orders/${asked.id}/pay`);
    expect(answer.status).toBe(409);
    expect(answer.body.detail).toContain('the time to pay is over');
    expect(await shop.order(asked.id)).toMatchObject({ status: 'UNPAID', payments: [] });
  });

  it.each([
    ['too little', -1],
    ['too much', 1],
  ])('of %s goes back, and the order can still be paid', async (_, difference) => {
    const [{ id, total }, transaction] = [await newOrder(), randomUUID()];
    const reason = `paid ${total + difference} instead of ${total}`;
    const first = await shop.callback(id, total + difference, transaction);
    expect(first.body).toMatchObject({ status: 'REFUND_PENDING', repeated: false, reason });
    const again = await shop.callback(id, total + difference, transaction);
    expect(again.body).toMatchObject({ paymentId: first.body.paymentId, repeated: true, reason });
    const order = await shop.orderWhen(id, ({ payments }) => payments[0]?.status === 'REFUNDED');
    expect(order).toMatchObject({ status: 'UNPAID', payments: [{ refundReason: reason }] });
    expect((await shop.act(id, 'pay')).status).toBe('PAID');
  });

  it('that comes too late, or a second time, or for nobody goes back, and the answer says why', async () => {
    const cancelled = await shop.orderAfter('cancel');
    const paid = await shop.orderAfter('pay');
    const late = await shop.callback(cancelled.id, cancelled.total);
    expect(late).toMatchObject({ status: 200, body: { reason: 'the order was closed' } });
    const second = await shop.callback(paid.id, paid.total);
    expect(second).toMatchObject({ status: 200, body: { reason: 'the order was paid already' } });

    const unknown = randomUUID();
    const { status, body } = await shop.callback(unknown, 500);
    expect({ status, body }).toMatchObject({ status: 200, body: { reason: 'no such order' } });
    await shop.paymentWhen(body.paymentId, 'REFUNDED');
    const payment = (await shop.get(`/payments/${body.paymentId}`)).body;
    expect(payment).toMatchObject({ orderId: unknown, amount: 500 });
  });
});

describe('a report under a transaction that is on record', () => {
  const shop = RunningShop.forAll();

  const place = async () => shop.place(await shop.newSku());

  it('for another order pays nothing, and is kept beside it', async () => {
    const [one, other, transaction] = [await place(), await place(), randomUUID()];
    const first = await shop.callback(one.id, one.total, transaction);
    const second = await shop.callback(other.id, other.total, transaction);
    expect(second).toEqual({
      status: 200,
      body: {
        paymentId: first.body.paymentId,
        status: 'CAPTURED',
        repeated: false,
        conflict: { orderId: one.id, amount: one.total },
        reason: `transaction ${transaction} is on record as ${one.total} for order ${one.id}`,
      },
    });
    expect(await shop.order(other.id)).toMatchObject({ status: 'UNPAID', payments: [] });
    expect(await shop.order(one.id)).toMatchObject({ status: 'PAID', payments: [{}] });
    const { body } = await shop.get(`/payments/${first.body.paymentId}`);
    expect(body.conflicts).toMatchObject([{ orderId: other.id, amount: other.total }]);
    for (const { id } of [one, other]) {
      const { timeline } = await shop.order(id);
      const [line] = timeline.filter(({ event }) => event === 'payment report contradicted');
      expect(line?.detail).toContain(`${other.total} for order ${other.id} reported`);
    }
  });

  it('of another amount is no repetition, and is kept once, however often it comes', async () => {
    const [{ id, total }, transaction] = [await place(), randomUUID()];
    await shop.callback(id, total, transaction);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => shop.callback(id, 1, transaction)),
    );
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body).toMatchObject({ repeated: false, conflict: { orderId: id, amount: total } });
    }
    expect((await shop.order(id)).payments).toMatchObject([{ amount: total }]);
    const { body } = await shop.get(`/payments/${answers[0]!.body.paymentId}`);
    expect(body.conflicts).toHaveLength(1);
  });

  it('of two that contradict at once, one is the record and the other the conflict', async () => {
    const [one, other, transaction] = [await place(), await place(), randomUUID()];
    const answers = await Promise.all(
      [one, other].map(({ id, total }) => shop.callback(id, total, transaction)),
    );
    expect(answers.filter(({ body }) => body.conflict)).toHaveLength(1);
    const orders = await Promise.all([one, other].map(({ id }) => shop.order(id)));
    expect(orders.map(({ status }) => status).toSorted()).toEqual(['PAID', 'UNPAID']);
  });
});
