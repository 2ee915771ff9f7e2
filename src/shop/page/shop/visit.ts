import { signal } from '@preact/signals';

/** What this visitor did here, beside what the shop knows. */
export const visit = {
  /** Orders that were placed from this page: only their news is read out. */
  placed: signal<ReadonlySet<string>>(new Set()),
  hasRaced: signal(false),
  hasKilled: signal(false),
  /** The order whose timeline is open; `undefined`: nobody chose, the newest. */
  open: signal<string | null | undefined>(undefined),
};

export function hasPlaced(orderId: string): void {
  visit.placed.value = new Set([...visit.placed.value, orderId]);
  visit.open.value = orderId;
}
