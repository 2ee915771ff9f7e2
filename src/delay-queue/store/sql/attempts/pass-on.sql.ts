import type { HistoryKept } from '../../../delay/attempts.js';
import { withoutLastAttempt } from '../parts/attempt-log.js';
import { clock, nodesNow } from '../parts/clock.js';
import { expectFew } from '../parts/planner.js';
import { fencedRow } from '../parts/row-of.js';
import { lives } from '../nodes/presence.sql.js';
import { msOrNull } from '../../wire/arrays.js';
import { epochMs, plusMs, wholeMs, type Tables } from '../../tables/schema.js';

/** Processes that a row remembers; with more of them about, an attempt is spent. */
const REFUSED_BY_MAX = 64;

/**
 * Passes on what this node cannot read to the nodes that may: those that live, serve the name, and have not refused this
 * row. The attempt is not spent, and the row wakes when it did. Parameters: ids[], epochs[], wait_ms[] (absent: it wakes
 * when it did), the node, and for how many milliseconds a node counts as alive of which nothing can be told. Fenced by epoch and owner.
 *
 * Answers a row for each that is held: `passed` is false when no other node is left. Such a row keeps its lease, for an
 * attempt to be spent. Who has refused it stands in the row until it is written anew, or that process has gone.
 */
export const passOnSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
live AS MATERIALIZED (
  SELECT n.id, n.names, COALESCE(n.instance, n.id) AS process,
         ${lives('n', nodesNow(tables), '$5::float8')} AS lives
  FROM ${tables.node} n, clock
),
input AS MATERIALIZED (
  SELECT i.id, i.epoch, ${msOrNull('i.wait_ms')} AS wait_ms
  FROM unnest($1::bigint[], $2::bigint[], $3::float8[]) AS i(id, epoch, wait_ms)
),
held AS MATERIALIZED (
  SELECT d.ctid, i.wait_ms,
         ARRAY(SELECT n.process FROM live n
               WHERE n.id = $4::text OR n.process = ANY (d.refused_by) LIMIT ${REFUSED_BY_MAX}) AS refused_by,
         COALESCE(pg_catalog.cardinality(d.refused_by), 0) < ${REFUSED_BY_MAX}
           AND EXISTS (SELECT FROM live n
                       WHERE n.lives AND n.id <> $4::text AND d.name = ANY (n.names)
                         AND n.process <> ALL (COALESCE(d.refused_by, '{}'))) AS passes
  FROM input i, LATERAL ${fencedRow(tables, 'i', {
    columns: 'd.ctid, d.name, d.refused_by',
    and: 'd.leased_by = $4::text',
  })} d
  WHERE ${expectFew('i')}
),
written AS (
  UPDATE ${tables.delay} d
  SET refused_by = h.refused_by,
      wake_at = CASE WHEN h.passes THEN COALESCE(${wholeMs(plusMs('clock.now', 'h.wait_ms'))}, d.wake_at) ELSE d.wake_at END,
      epoch = CASE WHEN h.passes THEN d.epoch + 1 ELSE d.epoch END,
      attempts = CASE WHEN h.passes THEN d.attempts - 1 ELSE d.attempts END,
      leased_until = CASE WHEN h.passes THEN NULL ELSE d.leased_until END,
      leased_by = CASE WHEN h.passes THEN NULL ELSE d.leased_by END${
        kept === 'attempts'
          ? `,
      attempt_log = CASE WHEN h.passes THEN ${withoutLastAttempt('d')} ELSE d.attempt_log END`
          : ''
      }
  FROM held h, clock
  WHERE d.ctid = h.ctid
  RETURNING d.id, d.epoch, d.name, d.group_id, d.wake_at, d.last_error IS NOT NULL AS failed, h.passes
)
SELECT w.id::text AS id, w.epoch::text AS epoch, w.name, w.group_id, w.failed::text AS failed, w.passes::text AS passed,
       ${epochMs('w.wake_at')}::text AS wake_ms
FROM written w`;
