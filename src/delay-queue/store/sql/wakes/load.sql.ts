import { clock, nodesNow } from '../parts/clock.js';
import { epochMs, plusMs, presentEpochUs, wakeOf, type Tables } from '../../tables/schema.js';
import { isPresent, lives } from '../nodes/presence.sql.js';
import { pausesJson } from '../pauses/pauses.sql.js';
import { REFUSED } from '../../wire/wakes.js';
import { notLeftOut, ownShare, servedName } from '../parts/share.js';

/**
 * A row as a small JSON array: one text to parse instead of five columns for each of thousands. Its wake is
 * in microseconds: a whole number, which looks the same to everybody. The last but one says how the latest attempt
 * ended: 0 none failed, 1 it failed, 2 without a word, 3 its process is gone before its lease has ended; and, as 4 more,
 * that a node could not read it.
 *
 * @param orphaned SQL that is true for an attempt without a process; then the wake is `looksAt`
 */
export const wakeJson = (row: string, { orphaned, looksAt } = NO_ORPHANS): string =>
  `pg_catalog.json_build_array(${row}.id, ${row}.epoch, ${row}.name,
                    ${presentEpochUs(`CASE WHEN ${orphaned} THEN ${looksAt} ELSE ${wakeOf(row)} END`)},
                    CASE WHEN ${orphaned} THEN 3
                         WHEN ${row}.leased_by IS NOT NULL THEN 2
                         WHEN ${row}.failed THEN 1 ELSE 0 END
                    + CASE WHEN ${row}.refused THEN ${REFUSED} ELSE 0 END, ${row}.group_id)`;

/** Postgres leaves out what cannot be. */
const NO_ORPHANS = { orphaned: 'false', looksAt: 'NULL' };

/**
 * The read-ahead, with the node's heartbeat in the same statement. Parameters: node, names[],
 * counts[], ranks[], mark_ms and mark_id (where reading begins), horizon_ms, limit,
 * peers_within_ms, whether this node holds its presence lock, the index of the names, and the process's own
 * instance; `withGroups` also byGroup[] and the groups that are left out. Answers one row: nodes (the others that live and are
 * not idle, since an idle one has no share), the instance that beat last under this name, whether the presence lock is held here, pauses, wakes, cursor, now_ms, and
 * later_ms, the clock read again when all else is read.
 */
export const loadSql = (tables: Tables, withGroups = false): string => {
  const groups = withGroups ? { byGroup: '$13::bool[]', leftOut: '$14::text[]' } : undefined;
  const { delay, node, now } = tables;
  const beat = nodesNow(tables);
  return `
WITH ${clock(tables)},
beat AS (
  INSERT INTO ${node} (id, names, present, started_at, seen_at, instance)
  SELECT $1::text, $2::text[], $10::bool, ${beat}, ${beat}, $12::text FROM clock
  ON CONFLICT (id) DO UPDATE
  SET names = excluded.names, present = excluded.present, seen_at = excluded.seen_at, idle_until = NULL,
      started_at = CASE WHEN ${node}.instance = excluded.instance THEN ${node}.started_at
                        ELSE excluded.started_at END,
      instance = excluded.instance
),
page AS MATERIALIZED (
  SELECT d.id, d.epoch, d.name, d.wake_at, d.leased_until, d.leased_by, d.group_id,
         d.last_error IS NOT NULL AS failed, d.refused_by IS NOT NULL AS refused
  FROM ${delay} d, ${servedName('d', '$2::text[]', '$11::jsonb')}
  WHERE (d.wake_at, d.id) > (pg_catalog.to_timestamp($5::float8 / 1e3::float8), $6::bigint)
    AND d.wake_at <= (SELECT ${plusMs(now, '$7::float8')})
    AND ${ownShare('d', '$3::int[]', '$4::int[]', groups)}${
      groups ? `\n    AND ${notLeftOut('d', groups)}` : ''
    }
  ORDER BY d.wake_at, d.id
  LIMIT $8::int
)
SELECT (SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_array(n.id, n.names) ORDER BY n.id), '[]')::text
        FROM ${node} n, clock
        WHERE n.id <> $1::text AND n.idle_until IS NULL AND ${lives('n', beat, '$9::float8')})
         AS nodes,
       (SELECT n.instance FROM ${node} n WHERE n.id = $1::text) AS last_instance,
       (SELECT COALESCE(pg_catalog.json_agg(${wakeJson('p')}), '[]')::text FROM page p) AS wakes,
       (SELECT ${epochMs('pg_catalog.max(wake_at)')}::text FROM page) AS cursor_ms,
       (SELECT p.id::text FROM page p ORDER BY p.wake_at DESC, p.id DESC LIMIT 1) AS cursor_id,
       (SELECT ${epochMs('clock.now')}::text FROM clock) AS now_ms,
       CASE WHEN $10::bool THEN ${isPresent('$1::text')} END::text AS is_held,
       ${pausesJson(tables)} AS pauses,
       ${epochMs(now)}::text AS later_ms`;
};
