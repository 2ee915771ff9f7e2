import type { Transaction, Waiting } from '../transaction.js';

/** A statement of the library, as a function of what its SQL reads and writes. */
export type Statement = (tx: Transaction, parameters: readonly unknown[]) => object[];

/** One that may have to wait for another transaction. */
export type WaitingStatement = (
  tx: Transaction,
  parameters: readonly unknown[],
) => Waiting<object[]>;

/** `unnest($1, $2, …) AS i(a, b, …)`: arrays side by side, as rows. */
export function unnest<Item>(arrays: readonly unknown[], ...columns: (keyof Item)[]): Item[] {
  const first = arrays[0] as unknown[];
  return first.map((_, index) => {
    const item: Partial<Record<keyof Item, unknown>> = {};
    for (const [at, column] of columns.entries()) {
      item[column] = (arrays[at] as unknown[])[index];
    }
    return item as Item;
  });
}
