import { afterEach, describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { PaymentDetails } from '../../src/shop/payments/payments.schemas.js';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';

const isRefunded = ({ status }: PaymentDetails): boolean => status === 'REFUNDED';

describe('money that goes back', () => {
  const shop = RunningShop.forAll();
  afterEach(() => provider({ refunds: 'work' }));

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

  it('is tried again while the provider fails, and is paid back once when it works again', async () => {
    await provider({ refunds: 'fail' });
    const id = await payLate();
    const failing = await paymentWhen(id, ({ refund }) => (refund?.attempts ?? 0) >= 2);
    expect(failing).toMatchObject({ status: 'REFUND_PENDING', refundedAt: null });
    expect(failing.refundError).toContain('the provider is out of order');
    expect(failing.refund?.nextAt).not.toBeNull();
    expect(await paidBack(id)).toEqual([]);

    await provider({ refunds: 'work' });
    const { amount, ...refunded } = await paymentWhen(id, isRefunded);
    expect(refunded).toMatchObject({ refundError: null, refund: null });
    expect(await paidBack(id)).toEqual([{ amount }]);
  });

  it('arrives by itself when the provider failed for a while', async () => {
    const { body } = await provider({ refunds: 'fail', for: '800ms' });
    expect(body).toMatchObject({ refunds: 'fail', until: expect.any(String) });
    const { refundedAt } = await paymentWhen(await payLate(), isRefunded);
    expect(Date.parse(refundedAt!)).toBeGreaterThanOrEqual(Date.parse(body.until));
    expect((await shop.get('/sample-provider')).body).toEqual({ refunds: 'work', until: null });
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
    const clicks = await Promise.all(Array.from({ length: 8 }, retry));
    expect(new Set(clicks.map(({ status }) => status))).toEqual(new Set([200]));
    await paymentWhen(id, isRefunded);
    expect(await retry()).toMatchObject({ status: 200, body: { status: 'REFUNDED' } });
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
});
