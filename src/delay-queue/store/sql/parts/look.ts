import { HELD_MAX_MS, type LockWait } from './lock-wait.js';
import { CLOCK, clockWaiting, type Tables } from '../../tables/schema.js';
import { keyedRow } from './row-of.js';

/** Columns of `history`, in the order in which every statement writes them. */
export const endedColumns =
  'id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key, node, error';

/** CTE `seen`: the committed row of every (name, key) in `input`, without waiting for anybody. */
export const looked = (tables: Tables): string => `
seen AS MATERIALIZED (
  SELECT i.ord, d.*
  FROM input i, LATERAL ${keyedRow(tables, 'i', {
    columns: 'd.id, d.due_at, d.leased_by IS NOT NULL AS leased',
    lock: 'none',
  })} d
)`;

/** CTE `clock`, with the limit of that lockWait. */
export const clockOf = (lockWait: LockWait): string =>
  lockWait === 'a while' ? clockWaiting(HELD_MAX_MS) : CLOCK;

/**
 * CTE `free`: the rows of `input` that no attempt holds, locked.
 *
 * - Unleased: locked, waiting (if `lockWait` says so) for a claim in flight or another caller's
 *   transaction. When that one leased or removed the row, READ COMMITTED looks at its new version and
 *   leaves it out, but the lock of it stays with the transaction: see `KeyLook`.
 * - Leased, and the lease is over: locked if nobody else has it. A handler's fence may still hold
 *   it, and nobody waits for a handler.
 *
 * Locked in the order of `input`, which is that of all callers.
 *
 * @param carries columns of `input` that stand beside those of the row
 */
export const freeRows = (
  tables: Tables,
  lockWait: LockWait,
  {
    carries = [],
    expiredOnlyIf = 'true',
  }: { carries?: readonly string[]; expiredOnlyIf?: string } = {},
): string => {
  const carried = carries.map((column) => `, i.${column}`).join('');
  const lockedOf = (lock: LockWait, and: string): string => `
  SELECT i.ord${carried}, d.*
  FROM (SELECT * FROM input ORDER BY ord) i, clock, LATERAL ${keyedRow(tables, 'i', {
    columns: `d.id, d.epoch, d.due_at, d.created_at, d.attempts, d.name, d.key, d.leased_by,
           d.last_error, d.wake_at = 'infinity' AS dead`,
    and,
    lock,
  })} d`;
  // Read for its lock_timeout, which so is set before the first row is locked.
  const limited = lockWait === 'a while' ? ' AND clock.lock_timeout IS NOT NULL' : '';
  return `
unleased AS MATERIALIZED (${lockedOf(lockWait, `d.leased_by IS NULL${limited}`)}
),
expired AS MATERIALIZED (${lockedOf('at once', `d.leased_until <= clock.now AND ${expiredOnlyIf}`)}
),
free AS MATERIALIZED (SELECT * FROM unleased UNION ALL SELECT * FROM expired)`;
};

/**
 * Condition for the row of the delay `d` that `of` has the id of, in an UPDATE or DELETE. As an equality it
 * could be a join that reads the whole table, see `row-of.sql.ts`; this is an index look-up for each.
 */
export const isRowOf = (of: string): string => `d.id = ANY (ARRAY[${of}.id])`;

/** What became of each of `input`. A FULL JOIN is never one that compares each with each. */
export const besideInput = (...ctes: [cte: string, alias: string][]): string =>
  ['input i', ...ctes.map(([cte, alias]) => `FULL JOIN ${cte} ${alias} USING (ord)`)].join(' ');
