import type { HistoryKept } from '../../../delay/attempts.js';
import { clockOf } from '../parts/clock.js';
import { intoHistory, logged } from '../parts/history-row.js';
import { movedTo } from '../parts/move-log.js';
import { isRowOf } from '../parts/planner.js';
import type { LockWait } from '../parts/lock-wait.js';
import { epochMs, nextEpoch, wholeMs, type Tables } from '../../tables/schema.js';
import { freeRows } from '../parts/look.js';
import type { Targets } from '../parts/targets.js';

/*
 * Of many dead letters. Parameters: those of the input. One row per dead letter; what is none answers no row. No attempt
 * holds a dead letter, so there is nothing to look at again.
 */

const deadRows = (tables: Tables, lockWait: LockWait, of: Targets, more: string[] = []): string =>
  freeRows(tables, lockWait, { of, more, onlyIf: `d.wake_at = 'infinity'` });

/** Makes them due now, with all their attempts. */
export const retryManyDeadSql = (tables: Tables, lockWait: LockWait, of: Targets): string => `
WITH ${clockOf(tables, lockWait)},
${of.input()},
${deadRows(tables, lockWait, of)},
retried AS (
  UPDATE ${tables.delay} d
  SET due_at = ${wholeMs('clock.now')}, wake_at = ${wholeMs('clock.now')}, epoch = ${nextEpoch('d')},
      attempts = 0, leased_until = NULL, leased_by = NULL, refused_by = NULL,
      move_log = ${movedTo(wholeMs('clock.now'), 'retryDead')}
  FROM free f, clock
  WHERE ${isRowOf('f')}
  RETURNING f.ord, d.id, d.name, d.key, d.group_id, d.epoch, d.due_at, d.wake_at
)
SELECT r.ord::text AS ord, 'retried' AS verdict, r.id::text AS id, r.name, r.key, r.group_id, 'true' AS failed, r.epoch::text AS epoch,
       ${epochMs('r.due_at')}::text AS due_ms, ${epochMs('r.wake_at')}::text AS wake_ms,
       ${epochMs('clock.now')}::text AS now_ms
FROM retried r, clock`;

/** Removes them. */
export const discardDeadSql = (
  tables: Tables,
  kept: HistoryKept,
  lockWait: LockWait,
  of: Targets,
): string => `
WITH ${clockOf(tables, lockWait)},
${of.input()},
${deadRows(tables, lockWait, of, logged(kept))},
gone AS (
  DELETE FROM ${tables.delay} d USING free f WHERE ${isRowOf('f')} RETURNING f.*
)${intoHistory(tables, kept, { of: 'g', from: 'gone g', state: "'discarded'" })}
SELECT g.ord::text AS ord, 'discarded' AS verdict, g.id::text AS id, g.name, g.key, NULL AS epoch,
       ${epochMs('g.due_at')}::text AS due_ms, NULL AS wake_ms, ${epochMs('clock.now')}::text AS now_ms
FROM gone g, clock`;
