import { type Tables, wholeEpochMs } from '../../../database/tables.js';
import type { LockWait } from './clock.js';
import { Targets } from './targets.js';

/** CTE `seen`: the committed row of everything in `input`, without waiting for a lock. */
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
  /** Columns of `input` that stand beside those of the row. */
  carries?: readonly string[];
  /** Further columns of the row. */
  more?: readonly string[];
  /** What else must be true of the row `d`. */
  onlyIf?: string;
  expiredOnlyIf?: string;
}

/**
 * CTE `free`: the rows of `input` that no attempt holds, locked.
 *
 * - Unleased: locked, waiting (if `lockWait` says so) for a claim in flight or another caller's
 *   transaction. When that one leased or removed the row, READ COMMITTED looks at its new version and
 *   leaves it out, but the lock of it stays with the transaction: see `KeyLook`.
 * - Leased, and the lease is over: locked if no other session has it. A handler's fence may still hold
 *   it, and no write waits for a handler.
 *
 * Locked in the order of `input`, which is that of all callers.
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
  // Read for its lock_timeout, which so is set before the first row is locked.
  const limited = lockWait === 'a while' ? ' AND clock.lock_timeout IS NOT NULL' : '';
  return `
unleased AS MATERIALIZED (${lockedOf(lockWait, `d.leased_by IS NULL${limited}`)}
),
expired AS MATERIALIZED (${lockedOf('at once', `d.leased_until <= clock.now AND ${expiredOnlyIf}`)}
),
free AS MATERIALIZED (SELECT * FROM unleased UNION ALL SELECT * FROM expired)`;
};

/*
 * How a row recurs. Beside what was said of it, its column holds `from` (of `every`: the first instant) and `declared` (the
 * code of a node says so).
 */

/** That of a delay whose first instant is `due`: `every` counts from there. */
export const repeatFrom = (repeat: string, due: string): string =>
  `CASE WHEN ${repeat} -> 'every'::text IS NULL THEN ${repeat}
             ELSE ${repeat} || pg_catalog.jsonb_build_object('from', ${wholeEpochMs(due)}) END`;

/** Without what was found out since it was said. */
export const asSaid = (repeat: string): string => `(${repeat} - 'from'::text)`;

export const isDeclared = (repeat: string): string => `${repeat} -> 'declared'::text IS NOT NULL`;

/**
 * What a call says of it, in the JSON text `extras`: it recurs in that way already, and the call does not say when it runs
 * next. Then it goes on with its instants.
 */
export const goesOnAsItDid = (repeat: string, extras: string): string =>
  `(${repeat} IS NOT NULL AND ${asSaid(repeat)} = ${extras}::jsonb -> 'repeat'::text AND NOT (${extras}::jsonb ->> 'first'::text)::bool) IS TRUE`;
