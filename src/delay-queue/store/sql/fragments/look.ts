import { type Tables, wholeEpochMs } from '../../../database/tables.js';
import type { LockWait } from './clock.js';
import { Targets } from './targets.js';

/** CTE `seen`: the committed row of each item of `input`, without waiting for a lock. */
export const looked = (
  tables: Tables,
  of: Targets = Targets.CALLS,
  more: readonly string[] = [],
): string => `
seen AS MATERIALIZED (
  SELECT i.ord, d.*
  FROM input i, LATERAL ${of.row(tables, {
    columns: ['d.id, d.due_at, d.leased_by IS NOT NULL AS leased', ...more].join(', '),
    lock: 'none',
  })} d
)`;

export interface FreeRows {
  of?: Targets;
  /** Columns of `input` to add to those of the row. */
  carries?: readonly string[];
  /** Further columns of the row. */
  more?: readonly string[];
  /** A further condition on row `d`. */
  onlyIf?: string;
  expiredOnlyIf?: string;
}

/**
 * CTE `free`: the rows of `input` that no attempt holds, locked.
 *
 * - Unleased: locked, after waiting (if `lockWait` allows) for a claim in flight or another
 *   caller's transaction. If that leased or removed the row, READ COMMITTED checks the new version
 *   and leaves it out, but its lock stays until the transaction ends: see `KeyLook`.
 * - Leased, and the lease has ended: locked if no other session has it. A handler's fence may still
 *   hold it, and no write waits for a handler.
 *
 * Rows are locked in the order of `input`, which is the same for all callers.
 */
export const freeRows = (
  tables: Tables,
  lockWait: LockWait,
  {
    of = Targets.CALLS,
    carries = [],
    more = [],
    onlyIf = 'true',
    expiredOnlyIf = 'true',
  }: FreeRows = {},
): string => {
  const carried = carries.map((column) => `, i.${column}`).join('');
  const lockedOf = (lock: LockWait, and: string): string => `
  SELECT i.ord${carried}, d.*
  FROM (SELECT * FROM input ORDER BY ord) i, clock, LATERAL ${of.row(tables, {
    columns: `d.id, d.epoch, d.due_at, d.created_at, d.attempts, d.name, d.key, d.leased_by,
           d.last_error, d.wake_at = 'infinity' AS dead${more.map((column) => `, d.${column}`).join('')}`,
    and: onlyIf === 'true' ? and : `${and} AND ${onlyIf}`,
    lock,
  })} d`;
  // Reads lock_timeout, so that it is set before the first row is locked.
  const limited = lockWait === 'a while' ? ' AND clock.lock_timeout IS NOT NULL' : '';
  return `
unleased AS MATERIALIZED (${lockedOf(lockWait, `d.leased_by IS NULL${limited}`)}
),
expired AS MATERIALIZED (${lockedOf('at once', `d.leased_until <= clock.now AND ${expiredOnlyIf}`)}
),
free AS MATERIALIZED (SELECT * FROM unleased UNION ALL SELECT * FROM expired)`;
};

/* Besides the repeat, the column holds `from` (of `every`: the first instant) and `declared`. */

/** The repeat of a delay whose first instant is `due`: `every` counts from there. */
export const repeatFrom = (repeat: string, due: string): string =>
  `CASE WHEN ${repeat} -> 'every'::text IS NULL THEN ${repeat}
             ELSE ${repeat} || pg_catalog.jsonb_build_object('from', ${wholeEpochMs(due)}) END`;

/** The repeat as given. */
export const asSaid = (repeat: string): string => `(${repeat} - 'from'::text)`;

export const isDeclared = (repeat: string): string => `${repeat} -> 'declared'::text IS NOT NULL`;

/**
 * Condition: the call's repeat equals the row's, without a first run: the row keeps its instants.
 */
export const goesOnAsItDid = (repeat: string, extras: string): string =>
  `(${repeat} IS NOT NULL AND ${asSaid(repeat)} = ${extras}::jsonb -> 'repeat'::text AND NOT (${extras}::jsonb ->> 'first'::text)::bool) IS TRUE`;
