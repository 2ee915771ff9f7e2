import { describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { OrderView } from '../../src/shop/orders/orders.schemas.js';
import { atOnce, statusesOf } from './support/at-once.js';
import { whileOrderHeld } from './support/faults.js';
import { RunningShop, type Answer } from './support/running-shop.js';

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
const lasting = ({
  timeline,
  payments,
  autoConfirmAt,
  review,
  closeReason,
  status,
}: OrderView) => ({
  timeline: timeline.filter(({ event }) => !/^message|^order\.sms/.test(event)),
  payments,
  autoConfirmAt,
  review,
  closeReason,
  status,
});

describe('what buyer and seller do', () => {
  const shop = RunningShop.forAll();

  const post = (id: string, action: string, body = BODIES[action]) =>
    shop.post(`/orders/${id}/${action}`, body);

  const orderAfter = async (...path: string[]): Promise<string> => {
    const { id } = await shop.place(await shop.newSku());
    for (const action of path) await shop.act(id, action, BODIES[action]);
    return id;
  };

  it('extending moves the confirmation, confirming ends it and starts the time to rate, rating ends that', async () => {
    const { id, autoConfirmAt } = await shop.orderAfter('pay', 'ship');
    const extended = await shop.act(id, 'extend');
    expect(Date.parse(extended.autoConfirmAt!)).toBe(Date.parse(autoConfirmAt!) + HOUR_MS);
    expect(extended).toMatchObject({
      extended: true,
      delays: [{ name: 'order.confirm', dueAt: extended.autoConfirmAt }],
    });
    const completed = await shop.act(id, 'confirm');
    expect(completed).toMatchObject({ status: 'COMPLETED', delays: [{ name: 'order.rate' }] });
    const rated = await shop.act(id, 'review', { stars: 4 });
    expect(rated).toMatchObject({ review: { stars: 4, source: 'buyer' }, delays: [] });
    // Each of them is fine again, also when the order has gone on since.
    const answers = ['pay', 'ship', 'extend', 'confirm', 'review'].map((action) =>
      post(id, action),
    );
    expect(statusesOf(await Promise.all(answers))).toEqual([200]);
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
      const id = await orderAfter(...path);
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

  it('there is no action but those that are tried here', async () => {
    const { body } = await shop.get('/docs/openapi.json');
    const actions = Object.keys(body.paths)
      .filter((path) => path.startsWith('/orders/{id}/'))
      .map((path) => path.split('/').at(-1));
    expect(new Set(actions)).toEqual(new Set(ACTIONS.map(([action]) => action)));
  });

  it.each(ACTIONS)(
    '%s is answered 200 many times at once, and happens once; asked for again, it changes nothing',
    async (action, path) => {
      const id = await orderAfter(...path);
      expect(statusesOf(await atOnce(8, () => post(id, action)))).toEqual([200]);
      const first = await shop.order(id);
      expect(first.payments.length).toBeLessThanOrEqual(1);
      const events = first.timeline.map(({ at, event, detail }) => `${at} ${event} ${detail}`);
      expect(new Set(events).size).toBe(events.length);
      const again = await shop.act(id, action, BODIES[action]);
      expect(lasting(again)).toEqual(lasting(first));
    },
  );

  it('paying, cancelling and rating are other things than what somebody else did', async () => {
    const paid = await shop.place(await shop.newSku());
    await shop.callback(paid.id, paid.total);
    expect(await post(paid.id, 'pay')).toMatchObject({ status: 409 });
    expect((await shop.order(paid.id)).payments).toHaveLength(1);

    const closed = await orderAfter();
    await shop.fallsDue('order.close', closed);
    await shop.orderWhen(closed, ({ status }) => status === 'CLOSED');
    expect(await post(closed, 'cancel')).toMatchObject({
      status: 409,
      body: { detail: 'the order cannot be cancelled: it is CLOSED (not paid in time)' },
    });

    const rated = await orderAfter('pay', 'ship', 'confirm', 'review');
    expect(await post(rated, 'review', { stars: 1 })).toMatchObject({
      status: 409,
      body: { detail: 'the order cannot be rated: it has a rating of 4 stars' },
    });
  });

  it.each([
    ['the buyer', 'the automatic rating'],
    ['the automatic rating', 'the buyer'],
  ] as const)(
    '%s rates while %s has begun to: one rating, and nobody fails',
    async (other, first) => {
      const id = await orderAfter('pay', 'ship', 'confirm');
      let rating: Promise<Answer> | undefined;
      const rate = {
        'the buyer': () => void (rating = post(id, 'review', { stars: 1 })),
        'the automatic rating': () => shop.fallsDue('order.rate', id),
      };
      await whileOrderHeld(shop, id, async () => {
        await rate[first]();
        await shop.untilWaiting(1);
        await rate[other]();
        await shop.untilWaiting(2);
      });
      const { status } = (await rating)!;
      expect([200, 409]).toContain(status);
      const { review } = await shop.orderWhen(id, ({ delays }) => delays.length === 0);
      expect(review!.source).toBe(status === 200 ? 'buyer' : 'automatic');
      const [ended] = await shop.app.get(DelayService).history('order.rate', id);
      expect(ended).toMatchObject({ state: 'completed', attempts: 1, error: null });
    },
  );
});
