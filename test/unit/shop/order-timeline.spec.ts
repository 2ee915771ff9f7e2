import { expect, it } from '@jest/globals';
import type { DelayRecord } from 'nestjs-delay-queue';
import { Order } from '../../../src/shop/orders/order.entity.js';
import { timelineOf } from '../../../src/shop/orders/order-timeline.js';
import { Payment } from '../../../src/shop/payments/payment.entity.js';

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

it('tells what happened in the order in which it happened', () => {
  const close: DelayRecord = {
    id: '1',
    name: 'order.close',
    key: 'an order',
    state: 'completed',
    dueAt: at(30),
    createdAt: at(0),
    endedAt: at(30),
    latenessMs: 1.25,
    attempts: 2,
    node: 'a node',
    error: 'the first attempt failed',
  };
  const order = Object.assign(new Order(), {
    placedAt: at(0),
    closedAt: at(30),
    closeReason: 'not paid in time',
  });
  const payment = Object.assign(new Payment(), {
    capturedAt: at(40),
    refundedAt: at(41),
    amount: 500,
    provider: 'sample',
    refundReason: 'the order was closed',
  });

  const timeline = timelineOf({
    order,
    payments: [payment],
    review: null,
    messages: [],
    conflicts: [],
    disputes: [],
    ended: [close],
  });

  expect(timeline.map(({ event, detail }) => `${event}: ${detail ?? '-'}`)).toEqual([
    'order placed: -',
    'order closed: not paid in time',
    'order.close completed: due 2026-01-01T00:00:30.000Z, 1.3 ms late, 2 attempts, the first attempt failed',
    'payment captured: 500 by sample',
    'payment refunded: the order was closed',
  ]);
});
