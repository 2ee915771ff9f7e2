import { STAYS_APART } from './planner.js';
import type { LockWait } from './lock-wait.js';
import type { Tables } from '../../tables/schema.js';

/*
 * Sub-selects for behind LATERAL, which look up one row at a time. Nothing else can be made of them, for
 * what locks, or has an OFFSET, is not merged with what is around it. A plan that is kept would else be
 * the one that a table of a few rows and arrays of ten suggest: compare each with each (ADR 0017).
 */

export interface Wanted {
  /** Of `d`, the row. */
  columns: string;
  /** Further conditions about `d`. */
  and?: string;
}

/** The row of one (id, epoch), locked, or none when that epoch is over; `of` is an alias that has both. */
export const fencedRow = (
  { delay }: Tables,
  of: string,
  { columns, and = 'true', waits = false }: Wanted & { waits?: boolean },
): string => `(
    SELECT ${columns}
    FROM ${delay} d
    WHERE d.id = ${of}.id AND d.epoch = ${of}.epoch AND ${and}
    FOR UPDATE${waits ? '' : ' SKIP LOCKED'}
  )`;

/** The row of one (name, key), locked or as it is; `of` is an alias that has both. */
export const keyedRow = (
  { delay }: Tables,
  of: string,
  { columns, and = 'true', lock }: Wanted & { lock: LockWait | 'none' },
): string => `(
    SELECT ${columns}
    FROM ${delay} d
    WHERE d.name = ${of}.name AND d.key = ${of}.key AND ${and}
    ${LOCKS[lock]}
  )`;

/** The row of one id, locked or as it is; `of` is an alias that has it. */
export const rowById = (
  { delay }: Tables,
  of: string,
  { columns, and = 'true', lock }: Wanted & { lock: LockWait | 'none' },
): string => `(
    SELECT ${columns}
    FROM ${delay} d
    WHERE d.id = ${of}.id AND ${and}
    ${LOCKS[lock]}
  )`;

const LOCKS = {
  waits: 'FOR UPDATE',
  'a while': 'FOR UPDATE',
  'at once': 'FOR UPDATE SKIP LOCKED',
  none: STAYS_APART,
} as const;
