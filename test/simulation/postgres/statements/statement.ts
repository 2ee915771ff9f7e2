import { types } from 'pg';
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

/** The text that Postgres reads as an array: of texts, each in quotes, of truth values, or of numbers. */
export function listOf(array: unknown): unknown[] {
  if (typeof array !== 'string')
    throw new Error('an array that was not written as Postgres reads it');
  if (array.includes('"')) return textsOf(array);
  const items = array === '{}' ? [] : array.slice(1, -1).split(',');
  return items.map((item) => (/^(?:true|false)$/.test(item) ? item === 'true' : Number(item)));
}

/** Of `text[]`. */
const textsOf = types.getTypeParser(1009 as number) as (literal: string) => unknown[];
