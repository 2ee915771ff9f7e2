import { createHash } from 'node:crypto';

/**
 * Spreads ids over nodes, the same in SQL and here. Fibonacci hashing (Knuth, TAOCP 6.4): the id
 * times 2^32 divided by the golden ratio, upper 24 of 32 bits. Plain `id % n` would give all closes
 * of a shop that makes three delays per order to one node of three.
 */
const GOLDEN = 1_640_531_527;

/** SQL for the spread of a bigint expression, 0 to 2^24 - 1. */
export const spreadSql = (id: string): string =>
  `((((${id}) & 4294967295) * ${GOLDEN} & 4294967295) >> 8)`;

/** The spread of an id, 0 to 2^24 - 1. */
export const spread = (id: number): number => (Math.imul(id >>> 0, GOLDEN) >>> 0) >>> 8;

/**
 * SQL for a number of a group, 0 to 2^32 - 1, the same as {@link groupNumber}. Not MD5, which some servers refuse, nor a
 * hash of Postgres's own, which no node can compute.
 */
export const groupNumberSql = (group: string): string =>
  `('x' || pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(pg_catalog.convert_to(${group}, 'UTF8')), 1, 4), 'hex'))::bit(32)::bigint`;

/** A number of a group, which is spread over nodes as ids are. */
export const groupNumber = (group: string): number =>
  createHash('sha256').update(group).digest().readUInt32BE(0);

/** Up to so many names, to look through all of them is no slower than to look one up. */
const LOOKED_THROUGH_MAX = 32;

const indexes = new WeakMap<readonly string[], string>();

/**
 * The place of each name in that list, counted from 1, as JSON for the statements of a node that serves very
 * many: Postgres looks through an array from its beginning, for each row. `null` while they are few.
 */
export function nameIndex(names: readonly string[]): string | null {
  if (names.length <= LOOKED_THROUGH_MAX) return null;
  let index = indexes.get(names);
  if (index === undefined) {
    index = JSON.stringify(Object.fromEntries(names.map((name, at) => [name, at + 1])));
    indexes.set(names, index);
  }
  return index;
}
