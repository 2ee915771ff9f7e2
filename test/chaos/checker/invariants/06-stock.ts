import { INVARIANTS } from '../../../../src/shop/invariants/invariants.sql.js';
import type { Invariant } from '../invariant.js';

/** The shop's own queries answer one row of counts; it becomes as many rows as were looked at. */
const spread = (name: string, query: string): string => `
  SELECT NULL::bigint AS delay_id, NULL::text AS token,
         CASE WHEN n <= q.broken THEN format('%s: %s of %s broken, such as %s',
           '${name.replaceAll("'", "''")}', q.broken, q.looked_at, q.example) END AS why
  FROM (${query}) q, generate_series(1, GREATEST(q.looked_at, q.broken)) n`;

export const stock: Invariant = {
  number: 6,
  title: 'stock is conserved per SKU, and all else the shop promises',
  checks: Object.entries(INVARIANTS).map(([name, query]) => ({
    of: name,
    sql: spread(name, query),
  })),
};
