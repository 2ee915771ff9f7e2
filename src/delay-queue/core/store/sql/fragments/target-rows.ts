import type { Tables } from '../../../database/tables.js';
import { type LockWait, STAYS_APART } from './clock.js';
import { isLeased, ROW_THAT_ENDS } from './state-and-error.js';

/** A further column of the input: its name and type. */
type Carried = readonly [name: string, type: string];

const KEYED: readonly Carried[] = [
  ['name', 'text'],
  ['key', 'text'],
];

/** The delays that a statement is about, as pieces of SQL. */
export class Targets {
  /** One delay of each call, of one caller or of many, by name and key. */
  static readonly CALLS = new Targets(KEYED, 'one');
  /** The delays that one call lists, by name and key. */
  static readonly KEYS = new Targets(KEYED, 'many');
  /** The delays that one call lists, by id. */
  static readonly IDS = Targets.whereIds();

  /** By id, if the condition on row `d` holds. */
  static whereIds(condition?: string): Targets {
    return new Targets([['id', 'bigint']], 'many', condition);
  }

  private constructor(
    private readonly namedBy: readonly Carried[],
    /** How many attempts may call at once. */
    readonly attempts: 'one' | 'many',
    private readonly condition?: string,
  ) {}

  /** CTE `input`: what names the delay, `carried`, and `ord`. Parameters: one array per column. */
  input(carried: readonly Carried[] = []): string {
    const columns = [...this.namedBy, ...carried];
    const arrays = columns
      .map(([, type], index) => `pg_catalog.unnest($${index + 1}::${type}[])`)
      .join(', ');
    const names = [...columns.map(([name]) => name), 'ord'].join(', ');
    return `input AS MATERIALIZED (
  SELECT * FROM ROWS FROM (${arrays}) WITH ORDINALITY AS i(${names})
)`;
  }

  /**
   * Condition: no calling attempt holds delay `d`; an attempt changes its own in another way.
   * Parameters after those of the input: id and epoch of the attempt, or two arrays of them.
   */
  isNotOwn(carried: readonly Carried[] = []): string {
    const first = this.namedBy.length + carried.length + 1;
    return this.attempts === 'one'
      ? `(d.id, d.epoch) IS DISTINCT FROM ($${first}::bigint, $${first + 1}::bigint)`
      : `(d.id, d.epoch) NOT IN (SELECT * FROM unnest($${first}::bigint[], $${first + 1}::bigint[]))`;
  }

  /** The row of each `i` of the input. */
  row(tables: Tables, { and = 'true', ...wanted }: Wanted & { lock: LockWait | 'none' }): string {
    const all = {
      ...wanted,
      and: this.condition === undefined ? and : `${and} AND ${this.condition}`,
    };
    return this.namedBy === KEYED ? keyedRow(tables, 'i', all) : rowById(tables, 'i', all);
  }

  /** The CTE that has the name and key of each, and the columns that it needs for that. */
  named(): { by: 'input' | 'seen'; columns: readonly string[] } {
    return this.namedBy === KEYED
      ? { by: 'input', columns: [] }
      : { by: 'seen', columns: ['d.name', 'd.key'] };
  }

  /** Columns of the answer: name and key, which a list of ids lacks. */
  nameAndKey(row: string): string {
    return this.namedBy === KEYED ? '' : `${row}.name, ${row}.key,\n       `;
  }
}

/** CTE `seen`: the committed row of each item of `input`, without waiting for a lock. */
export const looked = (
  tables: Tables,
  of: Targets = Targets.CALLS,
  more: readonly string[] = [],
): string => `
seen AS MATERIALIZED (
  SELECT i.ord, d.*
  FROM input i, LATERAL ${of.row(tables, {
    columns: ['d.id', 'd.due_at', `${isLeased('d')} AS leased`, ...more].join(', '),
    lock: 'none',
  })} d
)`;

interface FreeRows {
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
 * CTE `free`: the rows of `input` that no attempt holds, locked in the order of `input`, which is
 * the same for all callers.
 *
 * - Unleased: after waiting (if `lockWait` allows) for a claim in flight or another caller's
 *   transaction. If that leased or removed the row, READ COMMITTED leaves it out, but its lock
 *   stays until the transaction ends: see `lookOnce`.
 * - Leased, and the lease has ended: if no other session has it, such as the last statement of a
 *   transactional attempt. No write waits for a handler.
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
    columns: `${ROW_THAT_ENDS}${more.map((column) => `, d.${column}`).join('')}`,
    and: onlyIf === 'true' ? and : `${and} AND ${onlyIf}`,
    lock,
  })} d`;
  // Reads lock_timeout, so that it is set before the first row is locked.
  const limited = lockWait === 'a while' ? ' AND clock.lock_timeout IS NOT NULL' : '';
  return `
unleased AS MATERIALIZED (${lockedOf(lockWait, `NOT ${isLeased('d')}${limited}`)}
),
expired AS MATERIALIZED (${lockedOf('at once', `d.leased_until <= clock.now AND ${expiredOnlyIf}`)}
),
free AS MATERIALIZED (SELECT * FROM unleased UNION ALL SELECT * FROM expired)`;
};

/*
 * Sub-selects for LATERAL, which look up one row at a time. One that locks, or has an OFFSET, is
 * not merged with the outer query: a kept plan would otherwise compare each row with each (ADR
 * 0017).
 */

interface Wanted {
  /** Columns of row `d`. */
  columns: string;
  /** Further conditions on `d`. */
  and?: string;
}

/** The row of one (id, epoch), locked; none when that epoch has passed. Alias `of` has both. */
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

type Locked = Wanted & { lock: LockWait | 'none' };

const rowWhere = (
  { delay }: Tables,
  match: string,
  { columns, and = 'true', lock }: Locked,
): string => `(
    SELECT ${columns}
    FROM ${delay} d
    WHERE ${match} AND ${and}
    ${LOCKS[lock]}
  )`;

/** The row of one (name, key), locked or not. Alias `of` has both. */
export const keyedRow = (tables: Tables, of: string, wanted: Locked): string =>
  rowWhere(tables, `d.name = ${of}.name AND d.key = ${of}.key`, wanted);

/** The row of one id, locked or not. Alias `of` has it. */
export const rowById = (tables: Tables, of: string, wanted: Locked): string =>
  rowWhere(tables, `d.id = ${of}.id`, wanted);

const LOCKS = {
  waits: 'FOR UPDATE',
  'a while': 'FOR UPDATE',
  'at once': 'FOR UPDATE SKIP LOCKED',
  none: STAYS_APART,
} as const;
