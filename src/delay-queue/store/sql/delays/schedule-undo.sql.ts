import type { Tables } from '../../tables/schema.js';

/**
 * Takes back delays that this very call has inserted: no other caller has seen them, for other branches of the
 * caller wait for the end of the call. So history does not tell of them either. Parameter: ids[].
 */
export const scheduleUndoSql = ({ delay }: Tables): string =>
  `DELETE FROM ${delay} WHERE id = ANY ($1::bigint[])`;
