import { CANCEL_ONE } from '../../tables/cancel-one.function.js';
import type { Tables } from '../../tables/schema.js';

/**
 * Removes the delay of (name, key) if it waits, and nobody holds it. Parameters: name, key, what history keeps. Answers
 * no row when there was none.
 */
export const cancelOneSql = ({ schema }: Tables): string =>
  `SELECT id, due_ms FROM ${schema}.${CANCEL_ONE}($1::text, $2::text, $3::text)`;
