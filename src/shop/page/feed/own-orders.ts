import { Refused } from '../../../ui/deed.js';
import { serverClock } from '../../../ui/server-clock.js';
import { ORDERS_MAX, type OrderCard } from '../../feed/feed.js';
import type { Problem } from '../shop/request.js';
import { shop } from '../shop/shop.js';
import { isUnknown, ownOrders } from '../shop/visit.js';
import { known, learnOrder } from './known.js';

const ASK_EVERY_MS = 1_000;

/** A payment may come after the close, and its refund after that. */
const OVER_AFTER_MS = 60_000;

/**
 * In a busy shop an order leaves the feed within half a second. The visitor's own orders are polled
 * from then on, until nothing can happen to them any more.
 */
export function watchOwnOrders(): void {
  setTimeout(async () => {
    try {
      for (const id of document.hidden ? [] : leftBehind()) await ask(id);
    } finally {
      // Whatever failed, the next answer may succeed.
      watchOwnOrders();
    }
  }, ASK_EVERY_MS);
}

function leftBehind(): string[] {
  if (!known.isLoaded.value) return [];
  const cards = new Map(known.orders.value.map((card, at) => [card.id, { card, at }]));
  return [...ownOrders.value].filter((id) => {
    const its = cards.get(id);
    return !its || (its.at >= ORDERS_MAX && !isOver(its.card));
  });
}

function isOver({ status, delays, timeline }: OrderCard): boolean {
  const lastAt = Date.parse(timeline.at(-1)?.at ?? '');
  return (
    (status === 'CLOSED' || status === 'COMPLETED') &&
    delays.every(({ endedAt }) => endedAt !== null) &&
    lastAt + OVER_AFTER_MS < serverClock.now()
  );
}

async function ask(id: string): Promise<void> {
  try {
    learnOrder(await shop.order(id));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // The page notices anything else by its feed, too.
    if ((error.problem as Problem).status === 404) isUnknown(id);
  }
}
