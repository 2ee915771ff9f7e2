import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DelayService } from 'nestjs-delay-queue';
import type { PaymentDetails } from '../../src/shop/payments/payments.schemas.js';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';

const isRefunded = ({ status }: PaymentDetails): boolean => status === 'REFUNDED';

describe('money that goes back', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open();
  });
  afterEach(async () => {
    await provider({ refunds: 'work' });
    await shop.mustHold();
  });
  afterAll(() => shop.close());

  const provider = (mood: unknown) => shop.send('PUT', '/sample-provider', JSON.stringify(mood));
  const payment = async (id: string): Promise<PaymentDetails> =>
    (await shop.get(`/payments/${id}`)).body;
  const paymentWhen = (id: string, accept: (payment: PaymentDetails) => boolean) =>
    until(() => payment(id), accept);
  const paidBack = (id: string) =>
    shop.sql<{ amount: number }[]>(`SELECT amount FROM sample_refund WHERE payment_id = $1`, [id]);

  /** Money for an order that is closed already. */
  const payLate = async (): Promise<string> => {
    const { id, total } = await shop.orderAfter('cancel');
    const { body } = await shop.callback(id, total);
    return body.paymentId;
  };

  it('is paid back once, with the amount that came', async () => {
    const id = await payLate();
    const { amount } = await paymentWhen(id, isRefunded);
    expect(await paidBack(id)).toEqual([{ amount }]);
  });

  it('is tried again while the provider fails, and arrives when it works again', async () => {
    await provider({ refunds: 'fail' });
    const id = await payLate();
    const failing = await paymentWhen(id, ({ refund }) => (refund?.attempts ?? 0) >= 2);
    expect(failing).toMatchObject({ status: 'REFUND_PENDING', refundedAt: null });
    expect(failing.refundError).toContain('the provider is out of order');
    expect(failing.refund?.nextAt).not.toBeNull();
    expect(await paidBack(id)).toEqual([]);

    await provider({ refunds: 'work' });
    expect(await paymentWhen(id, isRefunded)).toMatchObject({ refundError: null, refund: null });
    expect(await paidBack(id)).toHaveLength(1);
  });

  it('arrives by itself when the provider failed for a while', async () => {
    const { body } = await provider({ refunds: 'fail', for: '1200ms' });
    expect(body).toMatchObject({ refunds: 'fail', until: expect.any(String) });
    const id = await payLate();
    const { timeline, payments } = await shop.order((await payment(id)).orderId);
    expect(payments).toMatchObject([{ status: 'REFUND_PENDING' }]);
    expect(timeline.map(({ event }) => event)).toContain('payment captured');
    const { refundedAt } = await paymentWhen(id, isRefunded);
    expect(Date.parse(refundedAt!)).toBeGreaterThanOrEqual(Date.parse(body.until));
    expect((await shop.get('/sample-provider')).body).toEqual({ refunds: 'work', until: null });
  });

  it('that a provider refuses to pay back waits for somebody who looks', async () => {
    await provider({ refunds: 'refuse' });
    const id = await payLate();
    const refused = await paymentWhen(id, ({ refund }) => refund?.state === 'dead');
    expect(refused).toMatchObject({
      status: 'REFUND_PENDING',
      refundError: 'the provider refuses to pay this back',
      refund: { state: 'dead', attempts: 1, nextAt: null },
    });
    const order = await shop.order(refused.orderId);
    expect(order.delays).toMatchObject([{ name: 'payment.refund', state: 'dead' }]);

    await provider({ refunds: 'work' });
    expect(await shop.post(`/payments/${id.toUpperCase()}/refund`)).toMatchObject({ status: 200 });
    await paymentWhen(id, isRefunded);
    expect(await paidBack(id)).toHaveLength(1);
  });

  it('can be asked for by many at once, and again when it is done', async () => {
    await provider({ refunds: 'refuse' });
    const id = await payLate();
    await paymentWhen(id, ({ refund }) => refund?.state === 'dead');
    await provider({ refunds: 'work' });
    const clicks = await Promise.all(
      Array.from({ length: 8 }, () => shop.post(`/payments/${id}/refund`)),
    );
    expect(new Set(clicks.map(({ status }) => status))).toEqual(new Set([200]));
    await paymentWhen(id, isRefunded);
    expect(await shop.post(`/payments/${id}/refund`)).toMatchObject({
      status: 200,
      body: { status: 'REFUNDED' },
    });
    expect(await paidBack(id)).toHaveLength(1);
  });

  it('is paid back once, though nobody wrote that down', async () => {
    await shop.sql(
      `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'the shop died before it wrote that down'; END $$;
       CREATE TRIGGER lose BEFORE UPDATE ON payment
         FOR EACH ROW WHEN (NEW.status = 'REFUNDED') EXECUTE FUNCTION lose()`,
    );
    const id = await payLate();
    await paymentWhen(id, ({ refundError }) => refundError !== null);
    expect(await paidBack(id)).toHaveLength(1);
    await shop.mustHold();
    await shop.sql(`DROP TRIGGER lose ON payment; DROP FUNCTION lose()`);
    await paymentWhen(id, isRefunded);
    expect(await paidBack(id)).toHaveLength(1);
  });

  it('is no money that an order keeps', async () => {
    const { payments } = await shop.orderAfter('pay');
    const answer = await shop.post(`/payments/${payments[0]!.id}/refund`);
    expect(answer.status).toBe(409);
    expect(answer.body.detail).toContain('it is kept for its order');
    expect(await shop.app.get(DelayService).find('payment.refund', payments[0]!.id)).toBeNull();
  });

  it('for an order that nobody knows can be looked up', async () => {
    const orderId = randomUUID();
    const { body } = await shop.callback(orderId, 500);
    expect(body.reason).toBe('no such order');
    await paymentWhen(body.paymentId, isRefunded);
    expect(await payment(body.paymentId)).toMatchObject({ orderId, amount: 500 });
  });

  it.each([randomUUID(), '42', 'a%00b'])('a payment that nobody knows, %s, is 404', async (id) => {
    expect((await shop.get(`/payments/${id}`)).status).toBe(404);
    expect((await shop.post(`/payments/${id}/refund`)).status).toBe(404);
  });

  it.each([
    [{}, /^refunds: /],
    [{ refunds: 'maybe' }, /^refunds: /],
    [{ refunds: 'fail', for: 'ever' }, /^for: /],
    [{ refunds: 'fail', for: 30 }, /^for: /],
    [{ refunds: 'work', for: '30s' }, /^for: /],
    [{ refunds: 'fail', fr: '30s' }, /fr/],
  ])('the provider cannot be told %j', async (mood, message) => {
    const answer = await provider(mood);
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toMatch(message);
  });
});

describe('a report of money', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open();
  });
  afterEach(() => shop.mustHold());
  afterAll(() => shop.close());

  const place = async () => shop.place(await shop.newSku());

  it('of the wrong amount is answered with what was wrong', async () => {
    const { id, total } = await place();
    const transaction = randomUUID();
    const reason = `paid ${total - 1} instead of ${total}`;
    const first = await shop.callback(id, total - 1, transaction);
    expect(first.body).toMatchObject({ status: 'REFUND_PENDING', repeated: false, reason });
    const again = await shop.callback(id, total - 1, transaction);
    expect(again.body).toMatchObject({
      paymentId: first.body.paymentId,
      repeated: true,
      reason,
    });
    expect(again.body.conflict).toBeUndefined();
  });

  it('that comes too late is answered with what had happened', async () => {
    const { id, total } = await shop.orderAfter('cancel');
    expect((await shop.callback(id, total)).body.reason).toBe('the order was closed');
    const paid = await shop.orderAfter('pay');
    expect((await shop.callback(paid.id, paid.total)).body.reason).toBe(
      'the order was paid already',
    );
  });

  it('under a known transaction for another order pays nothing, and is kept beside it', async () => {
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

  it('under a known transaction of another amount is no repetition', async () => {
    const [{ id, total }, transaction] = [await place(), randomUUID()];
    await shop.callback(id, total, transaction);
    const second = await shop.callback(id, total + 1, transaction);
    expect(second.body).toMatchObject({
      repeated: false,
      conflict: { orderId: id, amount: total },
    });
    expect((await shop.order(id)).payments).toMatchObject([{ amount: total }]);
  });

  it('that contradicts, however often and by how many at once, is kept once', async () => {
    const [{ id, total }, transaction] = [await place(), randomUUID()];
    await shop.callback(id, total, transaction);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => shop.callback(id, 1, transaction)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const { body } = await shop.get(`/payments/${answers[0]!.body.paymentId}`);
    expect(body.conflicts).toHaveLength(1);
  });

  it('of two that contradict at once, one is the record and the other the conflict', async () => {
    const [one, other, transaction] = [await place(), await place(), randomUUID()];
    const answers = await Promise.all([
      shop.callback(one.id, one.total, transaction),
      shop.callback(other.id, other.total, transaction),
    ]);
    expect(answers.filter(({ body }) => body.conflict)).toHaveLength(1);
    const statuses = [await shop.order(one.id), await shop.order(other.id)].map(
      ({ status }) => status,
    );
    expect(statuses.toSorted()).toEqual(['PAID', 'UNPAID']);
  });
});
