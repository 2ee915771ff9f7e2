import type { Tables } from '../schema.js';

/** Columns of `history`, in the order in which every statement writes them. */
export const endedColumns =
  'id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key, node, error';

/** CTE `seen`: the committed row of every (name, key) in `input`, without waiting for anybody. */
export const looked = ({ delay }: Tables): string => `
seen AS MATERIALIZED (
  SELECT i.ord, d.id, d.due_at, d.leased_by IS NOT NULL AS leased
  FROM input i JOIN ${delay} d ON d.name = i.name AND d.key = i.key
)`;

/** Whether a look waits for whoever holds an unleased row, or takes it for changed. */
export type Patience = 'waits' | 'at once';

/**
 * CTE `free`: the rows of `input` that no attempt holds, locked.
 *
 * - Unleased: locked, waiting (if `patience` says so) for a claim in flight or another caller's
 *   transaction. When that one leased or removed the row, READ COMMITTED looks at its new version and
 *   leaves it out, but the lock of it stays with the transaction: see `PatientStatement`.
 * - Leased, and the lease is over: locked if nobody else has it. A handler's fence may still hold
 *   it, and nobody waits for a handler.
 */
export const freeRows = ({ delay }: Tables, patience: Patience, expiredOnlyIf = 'true'): string => {
  const columns = `i.ord, d.id, d.epoch, d.due_at, d.created_at, d.attempts, d.name, d.key,
         d.leased_by, d.last_error, d.wake_at = 'infinity' AS dead`;
  return `
unleased AS MATERIALIZED (
  SELECT ${columns}
  FROM input i JOIN ${delay} d ON d.name = i.name AND d.key = i.key
  WHERE d.leased_by IS NULL
  ORDER BY i.ord
  FOR UPDATE OF d ${patience === 'waits' ? '' : 'SKIP LOCKED'}
),
expired AS MATERIALIZED (
  SELECT ${columns}
  FROM input i JOIN ${delay} d ON d.name = i.name AND d.key = i.key, clock
  WHERE d.leased_until <= clock.now AND ${expiredOnlyIf}
  ORDER BY i.ord
  FOR UPDATE OF d SKIP LOCKED
),
free AS MATERIALIZED (SELECT * FROM unleased UNION ALL SELECT * FROM expired)`;
};
