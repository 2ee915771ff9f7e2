import type { GroupOrder } from '../../../delay/selection.js';
import { clock } from '../parts/clock.js';
import { COUNTED, COUNTS, COUNTS_AS_TEXT } from './counts.js';
import { fullLimits, IS_LIMITED } from './waits-for.js';
import { isPaused } from '../pauses/pauses.sql.js';
import type { Tables } from '../../tables/schema.js';

/**
 * How many delays each group of a name has in each state, those with the most first. Parameters: limit; then those of the
 * condition. Delays without a group are left out, and index `delay_group` does not know of them.
 *
 * @param where on `d`
 */
export const groupStatsSql = (tables: Tables, where: string, by: GroupOrder): string => {
  const column = by === 'oldestOverdueMs' ? 'oldest_overdue_ms' : by;
  const order = `c.${column} DESC NULLS LAST, c.name, c.group_id`;
  return `
WITH ${clock(tables)},
delays AS (
  SELECT d.name, d.group_id, ${COUNTED}
  FROM ${tables.delay} d, clock
  WHERE d.group_id IS NOT NULL AND ${where}
),
counted AS (
  SELECT c.* FROM (SELECT name, group_id, ${COUNTS} FROM delays GROUP BY name, group_id) c
  ORDER BY ${order}
  LIMIT $1::int
),
${fullLimits(tables, 'counted')}
SELECT c.name, c.group_id, ${COUNTS_AS_TEXT},
       h.paused::text AS paused, h.limited::text AS limited
FROM counted c, LATERAL (
  SELECT ${isPaused(tables)} AS paused, ${IS_LIMITED} AS limited
  FROM clock, (VALUES (c.name, c.group_id)) AS d(name, group_id)
) h
ORDER BY ${order}`;
};
