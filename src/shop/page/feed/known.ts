import { computed, signal } from '@preact/signals';
import {
  HAPPENINGS_MAX,
  ORDERS_MAX,
  type Feed,
  type FeedChange,
  type OrderCard,
} from '../../feed/feed.js';
import { ownOrders } from '../shop/visit.js';

const feed = signal<Feed | null>(null);
let next: Feed | null = null;
let isPromised = false;

/** The shop's latest state. Each part changes alone: what reads the stock ignores orders. */
export const known = {
  isLoaded: computed(() => feed.value !== null),
  servedBy: computed(() => feed.value?.servedBy ?? null),
  mode: computed(() => feed.value?.mode ?? null),
  can: computed(() => feed.value?.can ?? null),
  skus: computed(() => feed.value?.skus ?? []),
  orders: computed(() => feed.value?.orders ?? []),
  processes: computed(() => feed.value?.processes ?? []),
  lateness: computed(() => feed.value?.lateness ?? null),
  invariants: computed(() => feed.value?.invariants ?? null),
  messages: computed(() => feed.value?.messages ?? []),
  happenings: computed(() => feed.value?.happenings ?? []),
  campaigns: computed(() => feed.value?.campaigns ?? []),
  merchants: computed(() => feed.value?.merchants ?? []),
};

export function learnAll(snapshot: Feed): void {
  const before = (next ?? feed.value)?.orders ?? [];
  const own = before.filter(({ id }) => ownOrders.value.has(id));
  show({ ...snapshot, orders: withCards(own, snapshot.orders) });
}

/** An order that has left the feed. */
export function learnOrder(card: OrderCard): void {
  const before = next ?? feed.value;
  if (before) show({ ...before, orders: withCards(before.orders, [card]) });
}

export function learn(change: FeedChange): void {
  const before = next ?? feed.value;
  if (before) show(merged(before, change));
}

/** At most one rendering per frame, however much arrives; a hidden page renders when shown. */
function show(latest: Feed): void {
  next = latest;
  if (isPromised) return;
  isPromised = true;
  requestAnimationFrame(() => {
    isPromised = false;
    feed.value = next;
    next = null;
  });
}

function merged(before: Feed, change: FeedChange): Feed {
  const { orders, happenings, ...rest } = change;
  return {
    ...before,
    ...rest,
    orders: orders ? withCards(before.orders, orders) : before.orders,
    happenings: happenings
      ? // A late commit may be older than what is known.
        [...happenings, ...before.happenings]
          .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
          .slice(0, HAPPENINGS_MAX)
      : before.happenings,
  };
}

/** Newest first: the feed's, and the visitor's own however many came after them. */
function withCards(before: OrderCard[], cards: OrderCard[]): OrderCard[] {
  const byId = new Map([...before, ...cards].map((card) => [card.id, card]));
  return [...byId.values()]
    .toSorted((a, b) => b.no - a.no)
    .filter(({ id }, at) => at < ORDERS_MAX || ownOrders.value.has(id));
}
