import type { Feed, FeedChange, Happening, OrderCard } from './feed.js';

/** Replaced as a whole when anything in them differs. */
const WHOLE = [
  'mode',
  'can',
  'skus',
  'processes',
  'lateness',
  'invariants',
  'messages',
  'campaigns',
  'merchants',
] as const satisfies (keyof Feed)[];

/** What a watcher that has `before` needs in order to have `after`; `null`: nothing. */
export function changeBetween(before: Feed, after: Feed): FeedChange | null {
  const whole = WHOLE.filter((part) => !isSame(before[part], after[part]));
  const orders = newOrDifferent(before.orders, after.orders);
  const happenings = newOnes(before.happenings, after.happenings);
  if (whole.length === 0 && orders.length === 0 && happenings.length === 0) return null;
  return {
    serverNow: after.serverNow,
    servedBy: after.servedBy,
    ...Object.fromEntries(whole.map((part) => [part, after[part]])),
    ...(orders.length > 0 && { orders }),
    ...(happenings.length > 0 && { happenings }),
  };
}

function newOrDifferent(before: OrderCard[], after: OrderCard[]): OrderCard[] {
  const known = new Map(before.map((card) => [card.id, card]));
  return after.filter((card) => !isSame(known.get(card.id), card));
}

function newOnes(before: Happening[], after: Happening[]): Happening[] {
  const known = new Set(before.map(({ id }) => id));
  return after.filter(({ id }) => !known.has(id));
}

const isSame = (a: unknown, b: unknown): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);
