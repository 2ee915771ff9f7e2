import { computed, signal } from '@preact/signals';
import {
  HAPPENINGS_MAX,
  ORDERS_MAX,
  type Feed,
  type FeedChange,
  type OrderCard,
} from '../../feed/feed.js';

const feed = signal<Feed | null>(null);
let next: Feed | null = null;
let isPromised = false;

/** What the shop said last. Each part changes by itself: who reads the stock is not drawn for an order. */
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
};

export function learnAll(snapshot: Feed): void {
  show(snapshot);
}

export function learn(change: FeedChange): void {
  const before = next ?? feed.value;
  if (before) show(merged(before, change));
}

/** At most one drawing for each frame, however much arrives; a hidden page draws when it is seen again. */
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
      ? [...happenings, ...before.happenings].slice(0, HAPPENINGS_MAX)
      : before.happenings,
  };
}

function withCards(before: OrderCard[], cards: OrderCard[]): OrderCard[] {
  const byId = new Map([...before, ...cards].map((card) => [card.id, card]));
  return [...byId.values()].toSorted((a, b) => b.no - a.no).slice(0, ORDERS_MAX);
}
