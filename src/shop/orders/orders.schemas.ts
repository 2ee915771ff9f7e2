import { z } from 'zod';
import { cents } from '../catalog/catalog.schemas.js';
import { limit, next } from '../http/page.js';
import { paymentView } from '../payments/payments.schemas.js';
import { REVIEW_SOURCES } from '../reviews/review.entity.js';
import { ORDER_STATUSES } from './order.entity.js';
import { orderId } from './order-id.pipe.js';

const QUANTITY_MAX = 99;
const LINES_MAX = 20;

const instant = z.string().meta({ format: 'date-time', example: '2026-11-20T12:30:00.000Z' });
const sku = z.string().regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots or dashes');
const status = z.enum(ORDER_STATUSES);

const line = z.strictObject({
  sku: sku.meta({ example: 'CUP-WHITE' }),
  quantity: z.int().min(1).max(QUANTITY_MAX).meta({ example: 2 }),
});

export const placeOrder = z.strictObject({
  items: z
    .array(line)
    .min(1)
    .max(LINES_MAX)
    .check(({ value: lines, issues }) => {
      for (const [index, total] of tooMany(lines)) {
        const message = `must be at most ${QUANTITY_MAX} of one SKU, together with its other lines: ${total} now`;
        issues.push({ code: 'custom', path: [index, 'quantity'], message, input: lines });
      }
    }),
});
export type PlaceOrderRequest = z.infer<typeof placeOrder>;

/** The lines that bring a SKU above its maximum quantity, with the total. */
function tooMany(lines: z.infer<typeof line>[]): [index: number, total: number][] {
  const totals = new Map<string, number>();
  return [...lines.entries()].flatMap(([index, { sku: of, quantity }]) => {
    const before = totals.get(of) ?? 0;
    const total = before + quantity;
    totals.set(of, total);
    return before > 0 && total > QUANTITY_MAX ? [[index, total] as [number, number]] : [];
  });
}

export const placedOrder = z.object({
  id: z.string(),
  status,
  total: cents,
  payDeadline: instant,
  serverNow: instant,
});
export type PlacedOrder = z.infer<typeof placedOrder>;

export const ordersQuery = z.strictObject({
  status: status.optional().meta({ description: 'Only those in this state' }),
  after: orderId.optional().meta({ description: 'The page that follows this order' }),
  limit,
});
export type OrdersQuery = z.infer<typeof ordersQuery>;

const delay = z.object({
  name: z.string().meta({ example: 'order.close' }),
  state: z.enum(['scheduled', 'running', 'retrying', 'dead']),
  dueAt: instant,
  attempts: z.int(),
});
export type DelayView = z.infer<typeof delay>;

const moment = z.object({
  at: instant,
  event: z.string().meta({ example: 'order.close cancelled' }),
  detail: z.string().nullable(),
});
export type Moment = z.infer<typeof moment>;

export const orderHead = z.object({
  id: z.string(),
  no: z.int().meta({ description: 'For people; machines use the id' }),
  status,
  merchant: z.string().meta({ example: 'tea-house' }),
  closeReason: z.string().nullable(),
  total: cents,
  placedAt: instant,
  payDeadline: instant,
  autoConfirmAt: instant.nullable(),
  extended: z.boolean(),
  terms: z
    .object({ confirmAfterMs: z.int(), rateAfterMs: z.int() })
    .meta({ description: 'As agreed when it was placed, in milliseconds' }),
});
export type OrderHead = z.infer<typeof orderHead>;

export const orderView = orderHead.extend({
  dispute: z
    .object({
      reason: z.string(),
      openedAt: instant,
      frozen: z
        .array(z.object({ name: z.string(), leftMs: z.int() }))
        .meta({ description: 'Timers that resume when it is released, with the time left' }),
    })
    .nullable(),
  items: z.array(z.object({ sku: z.string(), name: z.string(), price: cents, quantity: z.int() })),
  payments: z.array(paymentView),
  review: z.object({ stars: z.int().min(1).max(5), source: z.enum(REVIEW_SOURCES) }).nullable(),
  delays: z.array(delay).meta({ description: 'What is still to happen automatically' }),
  timeline: z.array(moment).meta({ description: 'What has happened, oldest first' }),
  serverNow: instant.meta({ description: "The database's clock, for countdowns" }),
});
export type OrderView = z.infer<typeof orderView>;

export const orderPage = z.object({ orders: z.array(orderHead), next });
export type OrderPage = z.infer<typeof orderPage>;
