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
