import { describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { OrderView } from '../../src/shop/orders/orders.schemas.js';
import { RunningShop } from './support/running-shop.js';

const HOUR_MS = 3_600_000;

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

const names = (order: OrderView): string[] => order.delays.map(({ name }) => name);

describe('what buyer and seller do', () => {
  const shop = RunningShop.forAll();

  const post = (id: string, action: string) => shop.post(`/orders/${id}/${action}`, BODIES[action]);

  const orderAfter = async (path: string[]): Promise<string> => {
    const { id } = await shop.place(await shop.newSku());
    for (const action of path) await shop.act(id, action, BODIES[action]);
    return id;
  };

  it('cancelling closes the order, returns its stock and cancels its delay', async () => {
    const sku = await shop.newSku();
    const { id } = await shop.place(sku, 4);
    expect(await shop.act(id, 'cancel')).toMatchObject({
      status: 'CLOSED',
      closeReason: 'cancelled by buyer',
      delays: [],
    });
    expect(await shop.stockOf(sku)).toBe(10);
  });

  it('extending moves the confirmation, confirming ends it and starts the time to rate, rating ends that', async () => {
    const shipped = await shop.orderAfter('pay', 'ship');
    const extended = await shop.act(shipped.id, 'extend');
    const movedMs = Date.parse(extended.autoConfirmAt!) - Date.parse(shipped.autoConfirmAt!);
    expect(movedMs).toBe(HOUR_MS);
    expect(extended.extended).toBe(true);
    expect(extended.delays).toMatchObject([
      { name: 'order.confirm', dueAt: extended.autoConfirmAt },
    ]);

    const completed = await shop.act(shipped.id, 'confirm');
    expect(completed.status).toBe('COMPLETED');
    expect(names(completed)).toEqual(['order.rate']);

    const rated = await shop.act(shipped.id, 'review', { stars: 4 });
    expect(rated).toMatchObject({ review: { stars: 4, source: 'buyer' }, delays: [] });
  });

  it.each([
    ['UNPAID', [], ['pay', 'cancel']],
    ['PAID', ['pay'], ['ship', 'dispute']],
    ['SHIPPED', ['pay', 'ship'], ['confirm', 'extend', 'dispute']],
    ['COMPLETED', ['pay', 'ship', 'confirm'], ['review', 'dispute']],
    ['CLOSED', ['cancel'], []],
  ])(
    'an order that is %s refuses what is to come later with 409',
    async (status, path, allowed) => {
      const { id } = await shop.orderAfter(...path);
      const fine = [...path, ...allowed, 'release'];
      for (const [action] of ACTIONS.filter(([name]) => !fine.includes(name))) {
        const answer = await post(id, action);
        expect({ action, status: answer.status }).toEqual({ action, status: 409 });
        expect(answer.body.detail).toContain(`it is ${status}`);
      }
      const release = await post(id, 'release');
      expect(release.body.detail).toContain('it is not under dispute');
      expect((await shop.order(id)).status).toBe(status);
    },
  );

  describe('asked for again, because no answer came,', () => {
    it('is told of each action that there is', async () => {
      const { body } = await shop.get('/docs/openapi.json');
      const actions = Object.keys(body.paths)
        .filter((path) => path.startsWith('/orders/{id}/'))
        .map((path) => path.split('/').at(-1));
      expect(new Set(actions)).toEqual(new Set(ACTIONS.map(([action]) => action)));
    });

    it.each(ACTIONS)(
      '%s is answered 200 with the order, unchanged; many times at once it happens once',
      async (action, path) => {
        const id = await orderAfter(path);
        const answers = await Promise.all(Array.from({ length: 10 }, () => post(id, action)));
        expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
        const first = await shop.order(id);
        expect(first.payments.length).toBeLessThanOrEqual(1);
        const events = first.timeline.map(({ at, event, detail }) => `${at} ${event} ${detail}`);
        expect(new Set(events).size).toBe(events.length);

        const again = await shop.act(id, action, BODIES[action]);
        expect(lasting(again)).toEqual(lasting(first));
        expect(again.status).toBe(first.status);
      },
    );

    it('each is fine also when the order has gone on since', async () => {
      const path = ['pay', 'ship', 'extend', 'confirm', 'review'];
      const id = await orderAfter(path);
      for (const action of path) expect((await post(id, action)).status).toBe(200);
    });

    it('paying is another thing than paying what somebody else was paid for', async () => {
      const { id, total } = await shop.place(await shop.newSku());
      await shop.callback(id, total);
      expect(await post(id, 'pay')).toMatchObject({ status: 409 });
      expect((await shop.order(id)).payments).toHaveLength(1);
    });

    it('cancelling is another thing than cancelling what closed by itself', async () => {
      const { id } = await shop.place(await shop.newSku());
      await shop.app.get(DelayService).reschedule('order.close', id, { after: 0 });
      await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
      const { status, body } = await post(id, 'cancel');
      expect(status).toBe(409);
      expect(body.detail).toBe('the order cannot be cancelled: it is CLOSED (not paid in time)');
    });

    it('rating is another thing than another rating', async () => {
      const id = await orderAfter(['pay', 'ship', 'confirm', 'review']);
      const { status, body } = await shop.post(`/orders/${id}/review`, { stars: 1 });
      expect(status).toBe(409);
      expect(body.detail).toBe('the order cannot be rated: it has a rating of 4 stars');
    });
  });
});

it('the buyer rates while the automatic rating fires: one rating, and nobody fails', async () => {
  const shop = await RunningShop.open({ rateAfterMs: 1_500 });
  try {
    const orders = await Promise.all(
      Array.from({ length: 30 }, () => shop.orderAfter('pay', 'ship', 'confirm')),
    );
    const statuses = await Promise.all(
      orders.map(async ({ id, delays }, i) => {
        const dueAt = Date.parse(delays[0]?.dueAt ?? '');
        await new Promise((done) => setTimeout(done, dueAt - Date.now() + (i % 7) - 3));
        return (await shop.post(`/orders/${id}/review`, { stars: 1 })).status;
      }),
    );
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    for (const { id } of orders) {
      await shop.orderWhen(id, ({ review, delays }) => review !== null && delays.length === 0);
    }
    await shop.mustHold();
    const byBuyers = await shop.sql<unknown[]>(`SELECT FROM review WHERE source = 'buyer'`);
    expect(byBuyers).toHaveLength(statuses.filter((status) => status === 200).length);
  } finally {
    await shop.close();
  }
});
