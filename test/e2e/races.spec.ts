import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RunningShop } from './support/running-shop.js';

describe('a race that a visitor starts', () => {
  let shop: RunningShop;

  beforeEach(async () => {
    shop = await RunningShop.open({ demo: true });
  });
  afterEach(async () => {
    await shop.mustHold();
    await shop.close();
  });

  const start = async (race: string): Promise<string> => {
    const { status, body } = await shop.post(`/races/${race}`);
    expect(status).toBe(202);
    return body.orderId;
  };
  const hasEnded = (id: string) =>
    shop.orderWhen(
      id,
      ({ payments, delays }) =>
        delays.length === 0 && payments.some((payment) => payment.status !== 'REFUND_PENDING'),
    );

  it('pay at the last moment: paid, or closed and paid back', async () => {
    const { status, payments, payDeadline, closeReason } = await hasEnded(
      await start('pay-at-the-last-moment'),
    );
    expect(payments).toHaveLength(1);
    expect([status, payments[0]!.status, closeReason]).toEqual(
      status === 'PAID' ? ['PAID', 'CAPTURED', null] : ['CLOSED', 'REFUNDED', 'not paid in time'],
    );
    // By the database's clock; how much after the instant it arrives is the machine's affair.
    const afterDeadlineMs = Date.parse(payments[0]!.capturedAt) - Date.parse(payDeadline);
    expect(afterDeadlineMs).toBeGreaterThanOrEqual(-10);
  });

  it('pay after the close: closed, and paid back', async () => {
    const { status, payments } = await hasEnded(await start('pay-after-the-close'));
    expect([status, payments.map((payment) => payment.status)]).toEqual(['CLOSED', ['REFUNDED']]);
  });

  it('close while it is being paid: the payment that had begun is kept', async () => {
    const { status, payments, payDeadline, timeline } = await hasEnded(
      await start('close-while-paid'),
    );
    expect([status, payments.map((payment) => payment.status)]).toEqual(['PAID', ['CAPTURED']]);
    const paid = timeline.find(({ event }) => event === 'order paid');
    expect(Date.parse(paid!.at)).toBeLessThan(Date.parse(payDeadline));
    expect(Date.parse(payments[0]!.capturedAt)).toBeGreaterThan(Date.parse(payDeadline));
  });

  it('is not started by a page of another origin', async () => {
    const send = (origin: string) =>
      shop.send('POST', '/races/pay-after-the-close', undefined, { origin });
    expect((await send('https://elsewhere.example')).status).toBe(403);
    expect((await send('null')).status).toBe(403);
    const { host } = new URL(shop.url);
    expect((await send(`http://${host}`)).status).toBe(202);
  });
});

it('in production there are no races and nothing to kill', async () => {
  const shop = await RunningShop.open();
  expect((await shop.post('/races/pay-after-the-close')).status).toBe(404);
  expect((await shop.post('/processes/shop-1/kill')).status).toBe(404);
  await shop.close();
});
