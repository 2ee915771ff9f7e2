import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ModulesContainer } from '@nestjs/core';
import { DelayService } from 'nestjs-delay-queue';
import { randomUUID } from 'node:crypto';
import { SampleMessages } from '../../src/shop/outbox/sample-messages.js';
import type { PaymentDetails } from '../../src/shop/payments/payments.schemas.js';
import { PaymentsService } from '../../src/shop/payments/payments.service.js';
import { SamplePaymentsService } from '../../src/shop/payments/sample-payments.service.js';
import { SampleProvider } from '../../src/shop/payments/sample-provider.js';
import { routesOf } from '../hostile/http/routes.js';
import { until } from '../support/until.js';
import { atOnce, statusesOf } from './support/at-once.js';
import { refuseWrite } from './support/faults.js';
import { RunningShop } from './support/running-shop.js';
import { messageWhen } from './support/told.js';
import { Webhook } from './support/webhook.js';

const isRefunded = ({ status }: PaymentDetails): boolean => status === 'REFUNDED';

describe('money', () => {
  const shop = RunningShop.forAll();

  const newOrder = async () => shop.place(await shop.newSku());

  const provider = (mood: unknown) => shop.send('PUT', '/sample-provider', JSON.stringify(mood));
  const paymentWhen = (id: string, accept: (payment: PaymentDetails) => boolean) =>
    until<PaymentDetails>(async () => (await shop.get(`/payments/${id}`)).body, accept);
  const paidBack = (id: string) =>
    shop.sql<{ amount: number }[]>(`SELECT amount FROM sample_refund WHERE payment_id = $1`, [id]);

  /** Money for an order that is closed already. */
  const payLate = async (): Promise<string> => {
    const { id, total } = await shop.orderAfter('cancel');
    return (await shop.callback(id, total)).body.paymentId;
  };

  it('that a provider reports pays the order and cancels its close; reported again, also at once, it is kept once', async () => {
    const [{ id, total }, transaction] = [await newOrder(), randomUUID()];
    // As a provider may: more than the shop knows, and the id as it likes to write it.
    const report = { orderId: id.toUpperCase(), provider: 'test', transaction, amount: total };
    const answers = await atOnce(8, (attempt) =>
      shop.post('/payments/callback', { ...report, card: { brand: 'a card' }, attempt }),
    );
    expect(statusesOf(answers)).toEqual([200]);
    const { paymentId } = answers[0]!.body;
    const receipt = { paymentId, status: 'CAPTURED' };
    const firstOnes = answers.filter(({ body }) => !body.repeated);
    expect(firstOnes.map(({ body }) => body)).toEqual([{ ...receipt, repeated: false }]);
    expect(answers.at(-1)!.body).toMatchObject(receipt);
    expect((await shop.post('/payments/callback', report)).body).toEqual({
      ...receipt,
      repeated: true,
    });
    const order = await shop.order(id.toUpperCase());
    expect(order).toMatchObject({ id, status: 'PAID', delays: [] });
    expect(order.payments).toMatchObject([{ status: 'CAPTURED', amount: total, provider: 'test' }]);
  });

  it('that two transactions bring at once is kept once and refunded once', async () => {
    const { id, total } = await newOrder();
    await atOnce(2, () => shop.callback(id, total));
    const order = await shop.orderWhen(id, ({ payments }) =>
      payments.some(({ status }) => status === 'REFUNDED'),
    );
    expect(order.status).toBe('PAID');
    expect(order.payments.map(({ status }) => status).toSorted()).toEqual(['CAPTURED', 'REFUNDED']);
  });

  it('that was already taken is kept for an overdue order, and no new money is taken for one', async () => {
    const [taken, asked] = [await newOrder(), await newOrder()];
    // All workers were down: the deadline is over and nobody has closed the order yet.
    await shop.sql(
      `UPDATE orders SET pay_deadline = clock_timestamp() - interval '1 second' WHERE id = ANY ($1)`,
      [[taken.id, asked.id]],
    );
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
    const report = () => shop.callback(id, total + difference, transaction);
    const { body: first } = await report();
    expect(first).toMatchObject({ status: 'REFUND_PENDING', repeated: false, reason });
    const { paymentId } = first;
    expect((await report()).body).toMatchObject({ paymentId, repeated: true, reason });
    const order = await shop.orderWhen(id, ({ payments }) => payments[0]?.status === 'REFUNDED');
    expect(order).toMatchObject({ status: 'UNPAID', payments: [{ refundReason: reason }] });
    expect((await shop.act(id, 'pay')).status).toBe('PAID');
  });

  it('that comes too late, or a second time, or for nobody goes back, and the answer says why', async () => {
    const refunds: [orderId: string, reason: string][] = [
      [(await shop.orderAfter('cancel')).id, 'the order was closed'],
      [(await shop.orderAfter('pay')).id, 'the order was paid already'],
      [randomUUID(), 'no such order'],
    ];
    for (const [orderId, reason] of refunds) {
      const answer = await shop.callback(orderId, 1_000);
      expect(answer).toMatchObject({ status: 200, body: { reason } });
      const { paymentId } = answer.body;
      await shop.paymentWhen(paymentId, 'REFUNDED');
      const { body } = await shop.get(`/payments/${paymentId}`);
      expect(body).toMatchObject({ orderId, amount: 1_000 });
    }
  });

  const conflictsOf = async (paymentId: string) =>
    (await shop.get(`/payments/${paymentId}`)).body.conflicts;

  it('under a transaction that is on record for another order pays nothing, and is kept beside it', async () => {
    const [one, other, transaction] = [await newOrder(), await newOrder(), randomUUID()];
    const first = await shop.callback(one.id, one.total, transaction);
    const second = await shop.callback(other.id, other.total, transaction);
    const { paymentId } = first.body;
    expect(second).toEqual({
      status: 200,
      body: {
        paymentId,
        status: 'CAPTURED',
        repeated: false,
        conflict: { orderId: one.id, amount: one.total },
        reason: `transaction ${transaction} is on record as ${one.total} for order ${one.id}`,
      },
    });
    expect(await shop.order(other.id)).toMatchObject({ status: 'UNPAID', payments: [] });
    expect(await shop.order(one.id)).toMatchObject({ status: 'PAID', payments: [{}] });
    const conflict = { orderId: other.id, amount: other.total };
    expect(await conflictsOf(paymentId)).toMatchObject([conflict]);
    for (const { id } of [one, other]) {
      const { timeline } = await shop.order(id);
      const [line] = timeline.filter(({ event }) => event === 'payment report contradicted');
      expect(line?.detail).toContain(`${other.total} for order ${other.id} reported`);
    }
  });

  it('under a transaction on record with another amount is no repetition, and is kept once, however often it comes', async () => {
    const [{ id, total }, transaction] = [await newOrder(), randomUUID()];
    await shop.callback(id, total, transaction);
    const answers = await atOnce(8, () => shop.callback(id, 1, transaction));
    expect(statusesOf(answers)).toEqual([200]);
    const told = { repeated: false, conflict: { orderId: id, amount: total } };
    for (const { body } of answers) expect(body).toMatchObject(told);
    expect((await shop.order(id)).payments).toMatchObject([{ amount: total }]);
    expect(await conflictsOf(answers[0]!.body.paymentId)).toHaveLength(1);
  });

  it('shows the newest contradictions, however many are reported', async () => {
    const { id, total } = await newOrder();
    const { paymentId } = (await shop.callback(id, total)).body;
    await shop.sql(
      `INSERT INTO payment_conflict (id, payment_id, order_id, amount, reported_at)
       SELECT gen_random_uuid(), $1, $2, n, now() + n * interval '1 s'
       FROM generate_series(1, 300) AS n`,
      [paymentId, id],
    );
    const shown: PaymentDetails['conflicts'] = await conflictsOf(paymentId);
    const amounts = shown.map(({ amount }) => amount);
    expect(amounts).toEqual(Array.from({ length: 100 }, (_, n) => 201 + n));
  });

  it('of two reports that contradict at once: one is the record and the other the conflict', async () => {
    const [orders, transaction] = [[await newOrder(), await newOrder()], randomUUID()];
    const answers = await Promise.all(
      orders.map(({ id, total }) => shop.callback(id, total, transaction)),
    );
    expect(answers.filter(({ body }) => body.conflict)).toHaveLength(1);
    const after = await Promise.all(orders.map(({ id }) => shop.order(id)));
    expect(after.map(({ status }) => status).toSorted()).toEqual(['PAID', 'UNPAID']);
  });

  describe('that goes back', () => {
    afterEach(() => provider({ refunds: 'work' }));

    it('is tried again while the provider fails, also for a while, and is paid back once when it works again', async () => {
      await provider({ refunds: 'fail' });
      const id = await payLate();
      const failing = await paymentWhen(id, ({ refundError }) => refundError !== null);
      expect(failing).toMatchObject({ status: 'REFUND_PENDING', refundedAt: null });
      expect(failing.refundError).toContain('the provider is out of order');
      expect(failing.refund?.nextAt).not.toBeNull();
      expect(await paidBack(id)).toEqual([]);

      const { body } = await provider({ refunds: 'fail', for: '1s' });
      expect(body).toMatchObject({ refunds: 'fail', until: expect.any(String) });
      const { amount, ...refunded } = await paymentWhen(id, isRefunded);
      expect(refunded).toMatchObject({ refundError: null, refund: null });
      expect(Date.parse(refunded.refundedAt!)).toBeGreaterThanOrEqual(Date.parse(body.until));
      expect((await shop.get('/sample-provider')).body).toEqual({ refunds: 'work', until: null });
      expect(await paidBack(id)).toEqual([{ amount }]);
    });

    it('shows no failure of an attempt once it is paid back, though its delay is still there', async () => {
      await provider({ refunds: 'refuse' });
      const id = await payLate();
      const { orderId } = await paymentWhen(id, ({ refund }) => refund?.state === 'dead');
      // Between the commit of the handler and the end of its delay.
      await shop.sql(
        `WITH refunded AS (
           UPDATE payment SET status = 'REFUNDED', refunded_at = clock_timestamp() WHERE id = $1
           RETURNING id, amount
         )
         INSERT INTO sample_refund (payment_id, amount) SELECT id, amount FROM refunded`,
        [id],
      );
      const { body } = await shop.get(`/payments/${id}`);
      expect(body).toMatchObject({ status: 'REFUNDED', refundError: null, refund: null });
      expect((await shop.order(orderId)).payments).toMatchObject([{ refundError: null }]);
    });

    it('that is refused waits for somebody who looks, and who may ask again and again', async () => {
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
      const retry = () => shop.post(`/payments/${id.toUpperCase()}/refund`);
      expect(statusesOf(await atOnce(8, retry))).toEqual([200]);
      await paymentWhen(id, isRefunded);
      expect(await retry()).toMatchObject({ status: 200, body: { status: 'REFUNDED' } });
      expect(await paidBack(id)).toHaveLength(1);
    });

    it('is paid back once, though nobody wrote that down', async () => {
      const letWrite = await refuseWrite(shop, 'UPDATE ON payment', `NEW.status = 'REFUNDED'`);
      const id = await payLate();
      await paymentWhen(id, ({ refundError }) => refundError !== null);
      expect(await paidBack(id)).toHaveLength(1);
      await shop.mustHold();
      await letWrite();
      await paymentWhen(id, isRefunded);
      expect(await paidBack(id)).toHaveLength(1);
    });

    it('is none that an order keeps', async () => {
      const { payments } = await shop.orderAfter('pay');
      const answer = await shop.post(`/payments/${payments[0]!.id}/refund`);
      expect(answer.status).toBe(409);
      expect(answer.body.detail).toContain('it is kept for its order');
      expect(await shop.app.get(DelayService).find('payment.refund', payments[0]!.id)).toBeNull();
    });
  });
});

describe('a shop that is no demo', () => {
  const TOKEN = 'secret-of-the-provider';
  const authorized = { authorization: `Bearer ${TOKEN}` };
  let demo: RunningShop;
  let shop: RunningShop;
  let webhook: Webhook;

  beforeAll(async () => {
    [demo, webhook] = await Promise.all([RunningShop.open(), Webhook.open()]);
  });
  afterEach(() => shop.mustHold());
  afterAll(async () => {
    await shop.close();
    await webhook.close();
  });

  const report = async (headers: Record<string, string>, status = 'UNPAID') => {
    const { id, total } = await shop.orderAfter(...(status === 'CLOSED' ? ['cancel'] : []));
    const body = { orderId: id, provider: 'real', transaction: randomUUID(), amount: total };
    return { ...body, id, answer: await shop.post('/payments/callback', body, headers) };
  };

  it('has no provider of its own: no route of it is there, it takes no report, pays nothing back, and says what to set', async () => {
    const routesOfDemo = await routesOf(demo);
    const { id: orderId, total: amount } = await demo.orderAfter('cancel');
    await demo.stop();
    shop = await RunningShop.open({ demo: false }, demo.database);

    const routes = new Set((await routesOf(shop)).map(({ name }) => name));
    const gone = routesOfDemo.filter(({ name }) => !routes.has(name));
    expect(gone.map(({ name }) => name).toSorted()).toEqual([
      'GET /processes',
      'GET /sample-provider',
      'POST /orders/{id}/pay',
      'POST /processes/{name}/kill',
      'POST /races/close-while-paid',
      'POST /races/pay-after-the-close',
      'POST /races/pay-at-the-last-moment',
      'PUT /sample-provider',
    ]);
    const { id } = await shop.place(await shop.newSku());
    for (const { method, at, sample } of gone) {
      expect([method, at(id), (await shop.send(method, at(id), sample)).status]).toEqual([
        method,
        at(id),
        404,
      ]);
    }
    const modules = [...shop.app.get(ModulesContainer).values()];
    const provided = new Set(modules.flatMap(({ providers }) => [...providers.keys()]));
    const samples = [SampleProvider, SamplePaymentsService, SampleMessages];
    expect(samples.filter((sample) => provided.has(sample))).toEqual([]);

    const { answer } = await report(authorized);
    expect(answer).toMatchObject({
      status: 403,
      body: { detail: expect.stringMatching(/set PAYMENTS_TOKEN/) },
    });
    // What was reported before.
    await shop.app
      .get(PaymentsService)
      .record({ orderId, provider: 'real', transaction: 'late', amount });
    const { delays } = await shop.orderWhen(orderId, (order) => order.delays[0]?.state === 'dead');
    expect(delays).toMatchObject([{ name: 'payment.refund' }]);
    const { payments } = await shop.order(orderId);
    expect(payments[0]!.refundError).toContain('set REFUNDS_URL');
    await shop.act(id, 'cancel');
    const told = await messageWhen(shop, id, 'order.closed', ({ state }) => state === 'FAILED');
    expect(told.error).toContain('set MESSAGES_URL');
  });

  it('takes reports that carry the token of its provider, and has that one pay back', async () => {
    await shop.stop();
    const settings = { paymentsToken: TOKEN, refundsUrl: webhook.url, messagesUrl: webhook.url };
    shop = await RunningShop.open({ demo: false, ...settings }, demo.database);
    for (const authorization of ['', TOKEN, `Bearer ${TOKEN}x`, 'Bearer ']) {
      const { id, answer } = await report({ authorization });
      expect([authorization, answer.status]).toEqual([authorization, 401]);
      expect(await shop.order(id)).toMatchObject({ status: 'UNPAID', payments: [] });
    }
    const paid = await report(authorized);
    expect(paid.answer.status).toBe(200);
    expect((await shop.order(paid.id)).status).toBe('PAID');

    webhook.answers = 503;
    const late = await report(authorized, 'CLOSED');
    const { paymentId } = late.answer.body;
    await shop.orderWhen(late.id, ({ payments }) => payments[0]?.refundError != null);
    webhook.answers = 204;
    await shop.paymentWhen(paymentId, 'REFUNDED');
    const { orderId, provider, transaction, amount } = late;
    const refund = { paymentId, orderId, provider, transaction, amount };
    const posted = webhook.posted.filter(({ key }) => key === paymentId);
    expect(posted.length).toBeGreaterThan(1);
    for (const { body } of posted) expect(body).toEqual(refund);
  });
});
