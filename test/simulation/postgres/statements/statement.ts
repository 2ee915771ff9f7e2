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
  const [first = [], ...others] = arrays.map(listOf);
  return first.map((_, index) => {
    const item: Partial<Record<keyof Item, unknown>> = {};
    for (const [at, column] of columns.entries()) {
      item[column] = (at === 0 ? first : others[at - 1])?.[index];
    }
    return item as Item;
  });
}

/** Numbers also come as Postgres writes an array of them. */
function listOf(array: unknown): unknown[] {
  if (typeof array !== 'string') return array as unknown[];
  return array === '{}' ? [] : array.slice(1, -1).split(',').map(Number);
}
