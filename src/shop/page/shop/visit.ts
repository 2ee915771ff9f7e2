import { computed, signal } from '@preact/signals';

/** How many of them stay on the page, whatever comes after them. */
const OWN_MAX = 8;

/** What this visitor did, beyond what the shop knows. */
export const visit = {
  /** Orders that were placed from this page: only their news is announced. */
  placed: signal<ReadonlySet<string>>(new Set()),
  /** The ones that a race placed. */
  raced: signal<ReadonlySet<string>>(new Set()),
  hasKilled: signal(false),
  /** The order whose timeline is open; `undefined`: none was chosen, so the newest. */
  open: signal<string | null | undefined>(undefined),
};

/** The orders that were placed last from this page, by hand or by a race. */
export const ownOrders = computed<ReadonlySet<string>>(
  () => new Set([...visit.placed.value].slice(-OWN_MAX)),
);

export function hasPlaced(orderId: string): void {
  visit.placed.value = new Set([...visit.placed.value, orderId]);
  visit.open.value = orderId;
}

export function hasRaced(orderId: string): void {
  visit.raced.value = new Set([...visit.raced.value, orderId]);
  hasPlaced(orderId);
}

/** The order does not exist any more: another shop answers at this address. */
export function isUnknown(orderId: string): void {
  visit.placed.value = new Set([...visit.placed.value].filter((id) => id !== orderId));
}
