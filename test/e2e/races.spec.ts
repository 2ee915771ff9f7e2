import { beforeAll, describe, expect, it } from '@jest/globals';
import { RACE_TERMS } from '../../src/shop/races/races.js';
import { RunningShop } from './support/running-shop.js';

describe('races that a visitor starts', () => {
  const shop = RunningShop.forAll({ demo: true });
  beforeAll(() => void Object.assign(RACE_TERMS, { payWithinMs: 2_000 }));

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

  // Each takes seconds, so all of them run at once.
  it('are paid or refunded, and never both', async () => {
    const atLast = await start('pay-at-the-last-moment');
    const afterClose = await start('pay-after-the-close');
    const whilePaid = await start('close-while-paid');

    // Paid, or closed and paid back.
    const one = await hasEnded(atLast);
    expect(one.payments).toHaveLength(1);
    expect([one.status, one.payments[0]!.status, one.closeReason]).toEqual(
      one.status === 'PAID'
        ? ['PAID', 'CAPTURED', null]
        : ['CLOSED', 'REFUNDED', 'not paid in time'],
    );
    // By the database's clock; how much after the instant it arrives is the machine's affair.
    const afterDeadlineMs = Date.parse(one.payments[0]!.capturedAt) - Date.parse(one.payDeadline);
    expect(afterDeadlineMs).toBeGreaterThanOrEqual(-10);

    const two = await hasEnded(afterClose);
    expect([two.status, two.payments.map(({ status }) => status)]).toEqual([
      'CLOSED',
      ['REFUNDED'],
    ]);

    // The payment that had begun is kept.
    const three = await hasEnded(whilePaid);
    expect([three.status, three.payments.map(({ status }) => status)]).toEqual([
      'PAID',
      ['CAPTURED'],
    ]);
    const paid = three.timeline.find(({ event }) => event === 'order paid');
    expect(Date.parse(paid!.at)).toBeLessThan(Date.parse(three.payDeadline));
    expect(Date.parse(three.payments[0]!.capturedAt)).toBeGreaterThan(
      Date.parse(three.payDeadline),
    );
  });

  it('are not started by a page of another origin', async () => {
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
  expect((await shop.get('/processes')).status).toBe(404);
  expect((await shop.post('/processes/shop-1/kill')).status).toBe(404);
  await shop.close();
});
