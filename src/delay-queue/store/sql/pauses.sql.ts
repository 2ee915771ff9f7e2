import { epochMs, plusMs, type Tables, wholeMs } from '../../database/tables.js';
import { clock, clockOf, type LockWait } from './fragments/clock.js';

/** In total: nodes keep pauses in memory, and send those of groups with each load. */
export const PAUSES_MAX = 1_000;

/** In the table, `infinity` stands for a pause without an end. */
const COLUMNS = `p.name, NULLIF(p.group_id, '') AS group_id, p.reason,
       ${epochMs('p.paused_at')}::text AS paused_ms,
       CASE WHEN p.until < 'infinity' THEN ${epochMs('p.until')} END::text AS until_ms`;

/** Condition: `d` is paused. Usually no pause exists, and no row is compared with any. */
export const isPaused = ({ pause }: Tables): string => `(
    (SELECT EXISTS (SELECT FROM ${pause})) AND EXISTS (
      SELECT FROM ${pause} p
      WHERE p.name = d.name AND p.group_id IN ('', d.group_id) AND p.until > clock.now))`;

/** The names of an array that are not paused as a whole: a scan then skips a paused backlog. */
export const unpausedNames = ({ pause }: Tables, names: string): string => `ARRAY(
    SELECT n.name FROM pg_catalog.unnest(${names}) AS n(name)
    WHERE NOT EXISTS (SELECT FROM ${pause} p, clock WHERE p.name = n.name AND p.group_id = '' AND p.until > clock.now))`;

/** The pauses in effect, as a JSON array; needs the CTE `clock`. */
export const pausesJson = ({ pause }: Tables): string => `
       (SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_array(p.name, p.group_id,
                 CASE WHEN p.until < 'infinity' THEN ${epochMs('p.until')} END)
                 ORDER BY p.name, p.group_id), '[]')::text
        FROM ${pause} p, clock WHERE p.until > clock.now)`;

/**
 * Pauses a name or one of its groups, or changes an existing pause. Parameters: name, group (''),
 * reason, duration in ms, until (both null: no end). Answers no row if there are too many.
 */
export const pauseSql = ({ pause, now }: Tables, lockWait: LockWait): string => `
WITH ${clockOf({ now }, lockWait)},
others AS (
  SELECT pg_catalog.count(*) AS many FROM ${pause} p, clock
  WHERE p.until > clock.now AND (p.name, p.group_id) <> ($1::text, $2::text)
),
paused AS (
  INSERT INTO ${pause} AS p (name, group_id, reason, paused_at, until)
  SELECT $1::text, $2::text, $3::text, clock.now,
         COALESCE($5::timestamptz, ${wholeMs(plusMs('clock.now', '$4::float8'))}, 'infinity')
  FROM clock, others WHERE others.many < ${PAUSES_MAX}
  ON CONFLICT (name, group_id) DO UPDATE
  SET reason = excluded.reason, until = excluded.until,
      paused_at = CASE WHEN p.until > excluded.paused_at THEN p.paused_at ELSE excluded.paused_at END
  RETURNING p.*
)
SELECT ${COLUMNS} FROM paused p`;

/** Ends a pause. Parameters: name, group (''). Answers a row if it was in effect. */
export const resumeSql = ({ pause, now }: Tables, lockWait: LockWait): string => `
WITH ${clockOf({ now }, lockWait)},
resumed AS (
  DELETE FROM ${pause} p USING clock WHERE p.name = $1::text AND p.group_id = $2::text RETURNING p.*
)
SELECT ${COLUMNS} FROM resumed p, clock WHERE p.until > clock.now`;

export const pausesSql = ({ pause, now }: Tables): string => `
WITH ${clock({ now })}
SELECT ${COLUMNS} FROM ${pause} p, clock WHERE p.until > clock.now ORDER BY p.name, p.group_id`;

/** Deletes pauses that ended long ago. Parameters: age_ms, limit. Answers how many. */
export const forgetPausesSql = ({ pause }: Tables): string => `
WITH deleted AS (
  DELETE FROM ${pause}
  WHERE (name, group_id) IN (
    SELECT p.name, p.group_id FROM ${pause} p
    WHERE p.until < (SELECT pg_catalog.clock_timestamp() - $1::float8 * interval '1 millisecond')
    LIMIT $2::int FOR UPDATE SKIP LOCKED)
  RETURNING name
)
SELECT pg_catalog.count(*)::text AS count FROM deleted`;
