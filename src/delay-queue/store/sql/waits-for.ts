import { dateMs, type Tables, wakeOf } from '../../database/tables.js';
import { IS_SERVED } from './fragments/presence.js';
import { isPaused } from './pauses.sql.js';

/** How many attempts run under limit `q`: those of the whole name, or of `those` permits. */
const runningUnder = ({ delay, permit }: Tables, those = 'true'): string => `(
      SELECT pg_catalog.count(*) FROM ${permit} p
      WHERE p.name = q.name AND ${those}
        AND (SELECT r.id FROM ${delay} r
             WHERE r.id = p.id AND r.epoch = p.epoch AND r.leased_until > clock.now LIMIT 1) IS NOT NULL)`;

/**
 * Condition: no attempt may begin under limit `q` now, as the last claim left it: its rate has not
 * refilled since, or as many attempts still run as that claim counted slots. Two counts, because
 * one for both would read the permits of the whole name for each of its groups.
 */
const isFull = (tables: Tables): string => `(q.full_until > clock.now OR q.full_places <=
    CASE WHEN q.group_id = '' THEN ${runningUnder(tables)}
         ELSE ${runningUnder(tables, 'p.group_id = q.group_id')} END)`;

/**
 * CTE `full_limit`: the limits that leave no slot to these rows. Each is looked up once, however
 * many delays it throttles: a limit of 10,000 counts 10,000 attempts.
 */
export const fullLimits = (tables: Tables, rows: string): string => `full_limit AS MATERIALIZED (
  SELECT q.name, q.group_id, q.full_since, q.full_until
  FROM (SELECT name, '' AS group_id FROM ${rows} UNION SELECT name, group_id FROM ${rows} WHERE group_id <> '') k, clock,
       LATERAL (SELECT * FROM ${tables.quota} WHERE name = k.name AND group_id = k.group_id OFFSET 0) q
  WHERE ${isFull(tables)}
)`;

/**
 * Condition: a limit of its name or group leaves no slot to delay `d`. IN is a hash lookup, where
 * EXISTS would read all limits for each group; a NULL would be compared with the whole hash.
 */
export const IS_LIMITED = `(
    (d.name, '') IN (SELECT name, group_id FROM full_limit)
    OR (d.name, COALESCE(d.group_id, '')) IN (SELECT name, group_id FROM full_limit))`;

/**
 * What holds back the due delays of `d`, a name and a group: `pause`, `limit` or null. For a name
 * that no node serves, a limit explains nothing. Needs the CTEs `clock`, `live` and `full_limit`.
 */
export const throttledBy = (tables: Tables): string =>
  `CASE WHEN ${isPaused(tables)} THEN 'pause' WHEN ${IS_SERVED} AND ${IS_LIMITED} THEN 'limit' END`;

/** Condition: anything may be held back at all. Usually nothing is, and no delay is compared. */
export const anyHeld = ({ pause, quota }: Tables): string =>
  `(EXISTS (SELECT FROM ${pause}) OR EXISTS (SELECT FROM ${quota} WHERE full_since IS NOT NULL))`;

/**
 * What delay `d` waits for, as JSON text: see `DelayWait`. For a delay that is not due, only its
 * own row counts. Needs the CTEs `clock`, `live` and `full_limit`.
 */
export const waitsFor = (tables: Tables): string => {
  const sinceWake = `'sinceMs', ${dateMs(wakeOf('d'))}`;
  return `CASE
    WHEN d.wake_at = 'infinity' THEN NULL
    WHEN d.leased_until > clock.now AND d.leased_until < 'infinity' THEN pg_catalog.json_build_object(
      'what', 'attempt', 'node', d.leased_by, 'untilMs', ${dateMs('d.leased_until')})
    WHEN d.wake_at > clock.now THEN pg_catalog.json_build_object(
      'what', CASE WHEN d.attempts > 0 THEN 'retry' ELSE 'due' END, 'untilMs', ${dateMs('d.wake_at')})
    ELSE COALESCE(
      (SELECT pg_catalog.json_build_object('what', 'pause', 'group', NULLIF(p.group_id, ''), 'reason', p.reason,
                'sinceMs', ${dateMs('p.paused_at')},
                'untilMs', CASE WHEN p.until < 'infinity' THEN ${dateMs('p.until')} END)
       FROM ${tables.pause} p
       WHERE p.name = d.name AND p.group_id IN ('', d.group_id) AND p.until > clock.now
       ORDER BY p.until DESC, p.group_id LIMIT 1),
      CASE WHEN NOT ${IS_SERVED} THEN pg_catalog.json_build_object('what', 'node', ${sinceWake}) END,
      (SELECT pg_catalog.json_build_object('what', 'limit', 'group', NULLIF(f.group_id, ''),
                'sinceMs', ${dateMs('f.full_since')},
                'untilMs', CASE WHEN f.full_until > clock.now THEN ${dateMs('f.full_until')} END)
       FROM full_limit f
       WHERE f.name = d.name AND f.group_id IN ('', d.group_id)
       ORDER BY f.group_id LIMIT 1),
      pg_catalog.json_build_object('what', 'turn', ${sinceWake}))
    END::text`;
};
