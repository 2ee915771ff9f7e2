import { epochMs, wakeOf } from '../../tables/schema.js';
import { stateAt } from '../parts/filter.js';

/** What is counted of a delay `d`, as columns of its own; there is a `clock`. */
export const COUNTED = `${stateAt('clock.now')} AS state,
         CASE WHEN ${wakeOf('d')} <= clock.now THEN ${wakeOf('d')} END AS overdue_since`;

/** Minus infinity has no age. GREATEST ignores NULL, so where none is overdue both are. */
const NOT_INFINITE = `GREATEST(pg_catalog.min(overdue_since), CASE WHEN pg_catalog.count(overdue_since) > 0 THEN '0001-01-01 00:00:00+00'::timestamptz END)`;

/** How many of a group of such rows are in each state, and those whose wake is past: no attempt has begun. */
export const COUNTS = `pg_catalog.count(*) AS total,
         pg_catalog.count(*) FILTER (WHERE state = 'scheduled') AS scheduled,
         pg_catalog.count(*) FILTER (WHERE state = 'running') AS running,
         pg_catalog.count(*) FILTER (WHERE state = 'retrying') AS retrying,
         pg_catalog.count(*) FILTER (WHERE state = 'dead') AS dead,
         pg_catalog.count(overdue_since) AS overdue,
         ${epochMs(`(SELECT now FROM clock) - ${NOT_INFINITE}`)} AS oldest_overdue_ms`;

/** These counts of a row `c`, as texts. */
export const COUNTS_AS_TEXT = `c.scheduled::text AS scheduled, c.running::text AS running, c.retrying::text AS retrying,
       c.dead::text AS dead, c.overdue::text AS overdue, c.oldest_overdue_ms::text AS oldest_overdue_ms`;
