import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { OrderView } from '../../src/shop/orders/orders.schemas.js';
import { RunningShop } from './support/running-shop.js';

const BODIES: Partial<Record<string, object>> = {
  review: { stars: 4 },
  dispute: { reason: 'it broke' },
};

/** Every action of an order, after those that lead to it. */
const ACTIONS: [action: string, path: string[]][] = [
  ['pay', []],
  ['cancel', []],
  ['ship', ['pay']],
  ['extend', ['pay', 'ship']],
  ['confirm', ['pay', 'ship']],
  ['review', ['pay', 'ship', 'confirm']],
  ['dispute', ['pay', 'ship']],
  ['release', ['pay', 'ship', 'dispute']],
];

/** What must not change by asking again. */
const lasting = ({ timeline, payments, autoConfirmAt, review, closeReason }: OrderView) => ({
  timeline: timeline.filter(({ event }) => !/^message|^order\.sms/.test(event)),
  payments,
  autoConfirmAt,
  review,
  closeReason,
});

describe('an action that succeeded, asked for again because no answer came,', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open();
  });
  afterEach(() => shop.mustHold());
  afterAll(() => shop.close());

  const send = (id: string, action: string) => shop.post(`/orders/${id}/${action}`, BODIES[action]);

  const orderAfter = async (path: string[]): Promise<string> => {
    const { id } = await shop.place(await shop.newSku());
    for (const action of path) await shop.act(id, action, BODIES[action]);
    return id;
  };

  it('is each one that there is', async () => {
    const { body } = await shop.get('/docs/openapi.json');
    const actions = Object.keys(body.paths)
      .filter((path) => path.startsWith('/orders/{id}/'))
      .map((path) => path.split('/').at(-1));
    expect(new Set(actions)).toEqual(new Set(ACTIONS.map(([action]) => action)));
  });

  it.each(ACTIONS)('%s, is answered 200 with the order, unchanged', async (action, path) => {
    const id = await orderAfter(path);
    const first = await shop.act(id, action, BODIES[action]);
    const again = await shop.act(id, action, BODIES[action]);
    expect(lasting(again)).toEqual(lasting(first));
    expect(again.status).toBe(first.status);
  });

  it.each(ACTIONS)('%s, and many times at once, happens once', async (action, path) => {
    const id = await orderAfter(path);
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(id, action)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const { payments, timeline } = await shop.order(id);
    expect(payments.length).toBeLessThanOrEqual(1);
    const events = timeline.map(({ at, event, detail }) => `${at} ${event} ${detail}`);
    expect(new Set(events).size).toBe(events.length);
  });

  it('still is when the order has gone on since', async () => {
    const id = await orderAfter(['pay', 'ship', 'extend', 'confirm', 'review']);
    for (const action of ['pay', 'ship', 'extend', 'confirm', 'review']) {
      expect((await send(id, action)).status).toBe(200);
    }
  });

  it('is another thing than paying what somebody else was paid for', async () => {
    const { id, total } = await shop.place(await shop.newSku());
    await shop.callback(id, total);
    expect(await send(id, 'pay')).toMatchObject({ status: 409 });
    expect((await shop.order(id)).payments).toHaveLength(1);
  });

  it('is another thing than cancelling what closed by itself', async () => {
    const { id } = await shop.place(await shop.newSku());
    await shop.app.get(DelayService).reschedule('order.close', id, { after: 0 });
    await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
    const { status, body } = await send(id, 'cancel');
    expect(status).toBe(409);
    expect(body.detail).toBe('the order cannot be cancelled: it is CLOSED (not paid in time)');
  });

  it('is another thing than another rating', async () => {
    const id = await orderAfter(['pay', 'ship', 'confirm', 'review']);
    const { status, body } = await shop.post(`/orders/${id}/review`, { stars: 1 });
    expect(status).toBe(409);
    expect(body.detail).toBe('the order cannot be rated: it has a rating of 4 stars');
  });
});
