import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { RunningShop } from './support/running-shop.js';

const HOUR_MS = 3_600_000;
const ACTIONS = ['pay', 'cancel', 'ship', 'confirm', 'extend', 'review'] as const;

describe('what buyer and seller do', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open();
  });
  afterEach(() => shop.mustHold());
  afterAll(() => shop.close());

  const post = (id: string, action: string) =>
    shop.post(`/orders/${id}/${action}`, action === 'review' ? { stars: 4 } : undefined);

  it('cancelling closes the order, returns its stock and cancels its delay', async () => {
    const sku = await shop.newSku({ stock: 10 });
    const { id } = await shop.place(sku, 4);
    expect(await shop.act(id, 'cancel')).toMatchObject({
      status: 'CLOSED',
      closeReason: 'cancelled by buyer',
      delays: [],
    });
    expect(await shop.stockOf(sku)).toBe(10);
  });

  it('cancelling by many clicks returns the stock once', async () => {
    const sku = await shop.newSku({ stock: 10 });
    const { id } = await shop.place(sku, 4);
    const clicks = await Promise.all(Array.from({ length: 8 }, () => post(id, 'cancel')));
    expect(clicks.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(await shop.stockOf(sku)).toBe(10);
  });

  it('confirming completes the order and starts the time to rate', async () => {
    const { id } = await shop.orderAfter('pay', 'ship');
    const completed = await shop.act(id, 'confirm');
    expect(completed.status).toBe('COMPLETED');
    expect(completed.delays.map(({ name }) => name)).toEqual(['order.rate']);
  });

  it('extending moves the confirmation once, by as long again', async () => {
    const shipped = await shop.orderAfter('pay', 'ship');
    const extended = await shop.act(shipped.id, 'extend');
    const movedMs = Date.parse(extended.autoConfirmAt!) - Date.parse(shipped.autoConfirmAt!);
    expect(movedMs).toBe(HOUR_MS);
    expect(extended.extended).toBe(true);
    expect(extended.delays).toMatchObject([
      { name: 'order.confirm', dueAt: extended.autoConfirmAt },
    ]);

    expect((await shop.act(shipped.id, 'extend')).autoConfirmAt).toBe(extended.autoConfirmAt);
  });

  it('extending by many clicks extends once', async () => {
    const { id, autoConfirmAt } = await shop.orderAfter('pay', 'ship');
    const clicks = await Promise.all(Array.from({ length: 6 }, () => post(id, 'extend')));
    expect(clicks.map(({ status }) => status)).toEqual(Array(6).fill(200));
    const order = await shop.order(id);
    expect(Date.parse(order.autoConfirmAt!) - Date.parse(autoConfirmAt!)).toBe(HOUR_MS);
  });

  it('rating counts once and cancels the automatic one', async () => {
    const { id } = await shop.orderAfter('pay', 'ship', 'confirm');
    const ratings = await Promise.all(
      [4, 4, 4, 1, 1, 1].map((stars) => shop.post(`/orders/${id}/review`, { stars })),
    );
    const { stars } = (await shop.order(id)).review!;
    // The others ask for what did not happen.
    expect(ratings.map(({ status }) => status)).toEqual(
      [4, 4, 4, 1, 1, 1].map((wanted) => (wanted === stars ? 200 : 409)),
    );
    expect(await shop.order(id)).toMatchObject({
      review: { source: 'buyer' },
      delays: [],
    });
  });

  it.each([0, 6, 2.5, '5', null])('rating with %j stars is refused', async (stars) => {
    const { id } = await shop.orderAfter('pay', 'ship', 'confirm');
    const answer = await shop.post(`/orders/${id}/review`, { stars });
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toMatch(/^stars: /);
  });

  it.each([
    ['UNPAID', [], ['pay', 'cancel']],
    ['PAID', ['pay'], ['ship']],
    ['SHIPPED', ['pay', 'ship'], ['confirm', 'extend']],
    ['COMPLETED', ['pay', 'ship', 'confirm'], ['review']],
    ['CLOSED', ['cancel'], []],
  ])(
    'an order that is %s refuses what is to come later with 409',
    async (status, path, allowed) => {
      const { id } = await shop.orderAfter(...path);
      const fine = [...path, ...allowed];
      for (const action of ACTIONS.filter((name) => !fine.includes(name))) {
        const answer = await post(id, action);
        expect({ action, status: answer.status }).toEqual({ action, status: 409 });
        expect(answer.body.detail).toContain(`it is ${status}`);
      }
      expect((await shop.order(id)).status).toBe(status);
    },
  );

  it.each(['00000000-0000-0000-0000-000000000000', randomUUID(), '42', 'a%00b'])(
    'an unknown order, %s, is 404 everywhere',
    async (id) => {
      expect((await shop.get(`/orders/${id}`)).status).toBe(404);
      for (const action of ACTIONS) expect((await post(id, action)).status).toBe(404);
    },
  );

  it('an unknown route is 404', async () => {
    expect((await shop.get('/nowhere')).status).toBe(404);
    expect((await shop.post(`/orders/${randomUUID()}/explode`)).status).toBe(404);
  });
});

describe('the buyer rates while the automatic rating fires', () => {
  it('leaves one rating and fails nobody', async () => {
    const shop = await RunningShop.open({ rateAfterMs: 1_500 });
    try {
      const orders = await Promise.all(
        Array.from({ length: 30 }, () => shop.orderAfter('pay', 'ship', 'confirm')),
      );
      const statuses = await Promise.all(
        orders.map(async ({ id, delays }, i) => {
          const dueAt = Date.parse(delays[0]?.dueAt ?? '');
          await new Promise((done) => setTimeout(done, dueAt - Date.now() + (i % 7) - 3));
          return (await post(id)).status;
        }),
      );
      expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
      for (const { id } of orders) {
        await shop.orderWhen(id, ({ review, delays }) => review !== null && delays.length === 0);
      }
      expect(await shop.broken()).toEqual([]);
      const [bySource] = await shop.sql<{ buyer: number; dead: number }[]>(
        `SELECT (SELECT count(*)::int FROM review WHERE source = 'buyer') AS buyer,
                (SELECT count(*)::int FROM delay_queue.delay) AS dead`,
      );
      expect(bySource).toEqual({
        buyer: statuses.filter((status) => status === 200).length,
        dead: 0,
      });
    } finally {
      await shop.close();
    }

    function post(id: string) {
      return shop.post(`/orders/${id}/review`, { stars: 1 });
    }
  });
});
