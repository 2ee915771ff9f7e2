import { computed, signal } from '@preact/signals';

/** So many of them stay on the page, whatever comes after them. */
const OWN_MAX = 8;

/** What this visitor did here, beside what the shop knows. */
export const visit = {
  /** Orders that were placed from this page: only their news is read out. */
  placed: signal<ReadonlySet<string>>(new Set()),
  /** Those of them that a race placed. */
  raced: signal<ReadonlySet<string>>(new Set()),
  hasKilled: signal(false),
  /** The order whose timeline is open; `undefined`: none was chosen, the newest. */
  open: signal<string | null | undefined>(undefined),
};

/** The orders that were last placed from this page, by hand or by a race. */
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

/** There is no such order any more: another shop answers at this address. */
export function isUnknown(orderId: string): void {
  visit.placed.value = new Set([...visit.placed.value].filter((id) => id !== orderId));
}
