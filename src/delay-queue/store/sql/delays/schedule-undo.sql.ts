import type { Tables } from '../../tables/schema.js';

/**
 * Takes back delays that this very transaction has inserted: nobody else has seen them, so history does
 * not tell of them either. What a parallel branch of the caller has moved meanwhile stays. Parameter: ids[].
 */
export const unplaceSql = ({ delay }: Tables): string =>
  `DELETE FROM ${delay} WHERE id = ANY ($1::bigint[]) AND epoch = 0`;
