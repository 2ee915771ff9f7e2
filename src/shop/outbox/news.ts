import type { OrderStatus } from '../orders/order.entity.js';

/** News for the buyer, at most once for each order. */
export const NEWS = [
  'order.placed',
  'order.reminder',
  'order.paid',
  'order.shipped',
  'order.completed',
  'order.closed',
] as const;
export type News = (typeof NEWS)[number];

interface Telling {
  /** `{no}` and `{total}` are the order's. */
  text: string;
  /** In any other state of the order it makes no sense. */
  while?: readonly OrderStatus[];
}

/** The text of each, and when it applies. */
export const TELLING: Record<News, Telling> = {
  'order.placed': {
    text: 'Thank you. Your order {no} for {total} is placed.',
    while: ['UNPAID', 'PAID', 'SHIPPED', 'COMPLETED'],
  },
  'order.reminder': {
    text: 'Your order {no} for {total} closes soon. Please pay it.',
    while: ['UNPAID'],
  },
  'order.paid': { text: 'Your order {no} for {total} is paid.' },
  'order.shipped': { text: 'Your order {no} is on its way.' },
  'order.completed': { text: 'Your order {no} is complete. How was it?' },
  'order.closed': { text: 'Your order {no} is closed.' },
};

/** News that can become pointless, with the states in which it is not. */
export const WHILE = NEWS.flatMap((kind) =>
  (TELLING[kind].while ?? []).map((status) => ({ kind, status })),
);
