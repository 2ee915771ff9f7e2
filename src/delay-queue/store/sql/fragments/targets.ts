import type { Tables } from '../../../database/tables.js';
import { type LockWait, STAYS_APART } from './clock.js';

/*
 * Sub-selects for behind LATERAL, which look up one row at a time. Nothing else can be made of them, for
 * what locks, or has an OFFSET, is not merged with what is around it. A plan that is kept would else be
 * the one that a table of a few rows and arrays of ten suggest: compare each with each (ADR 0017).
 */

interface Wanted {
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

/** The row of one (name, key), locked or as it is; `of` is an alias that has both. */
export const keyedRow = (tables: Tables, of: string, wanted: Locked): string =>
  rowWhere(tables, `d.name = ${of}.name AND d.key = ${of}.key`, wanted);

/** The row of one id, locked or as it is; `of` is an alias that has it. */
export const rowById = (tables: Tables, of: string, wanted: Locked): string =>
  rowWhere(tables, `d.id = ${of}.id`, wanted);

const LOCKS = {
  waits: 'FOR UPDATE',
  'a while': 'FOR UPDATE',
  'at once': 'FOR UPDATE SKIP LOCKED',
  none: STAYS_APART,
} as const;

/** A column of the input beside what names the delay: its name and type. */
type Carried = readonly [name: string, type: string];

const KEYED: readonly Carried[] = [
  ['name', 'text'],
  ['key', 'text'],
];

/** Which delays a statement is about, as pieces of SQL. */
export class Targets {
  /** One of each call, of many callers or of one, by name and key. */
  static readonly CALLS = new Targets(KEYED, 'one');
  /** Those that one call lists, by name and key. */
  static readonly KEYS = new Targets(KEYED, 'many');
  /** Those that one call lists, by id. */
  static readonly IDS = Targets.whereIds();

  /** By id, as long as that is true of the row `d`. */
  static whereIds(condition?: string): Targets {
    return new Targets([['id', 'bigint']], 'many', condition);
  }

  private constructor(
    private readonly namedBy: readonly Carried[],
    /** How many attempts may ask at once. */
    readonly attempts: 'one' | 'many',
    private readonly condition?: string,
  ) {}

  /** CTE `input`: what names the delay, what is carried, and `ord`. Parameters: one array for each column. */
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
   * Condition on the delay `d`: no attempt that asks holds it, for an attempt changes its own delay in another way.
   * Parameters behind those of the input: id and epoch of the attempt, or two arrays of them.
   */
  isNotOwn(carried: readonly Carried[] = []): string {
    const first = this.namedBy.length + carried.length + 1;
    return this.attempts === 'one'
      ? `(d.id, d.epoch) IS DISTINCT FROM ($${first}::bigint, $${first + 1}::bigint)`
      : `(d.id, d.epoch) NOT IN (SELECT * FROM unnest($${first}::bigint[], $${first + 1}::bigint[]))`;
  }

  /** The row of each of `i`, which is of the input. */
  row(tables: Tables, { and = 'true', ...wanted }: Wanted & { lock: LockWait | 'none' }): string {
    const all = {
      ...wanted,
      and: this.condition === undefined ? and : `${and} AND ${this.condition}`,
    };
    return this.namedBy === KEYED ? keyedRow(tables, 'i', all) : rowById(tables, 'i', all);
  }

  /** What has the name and key of each, and the columns that its rows have for that. */
  named(): { by: 'input' | 'seen'; columns: readonly string[] } {
    return this.namedBy === KEYED
      ? { by: 'input', columns: [] }
      : { by: 'seen', columns: ['d.name', 'd.key'] };
  }

  /** Columns of the answer: name and key, which only a list of ids does not know. */
  nameAndKey(row: string): string {
    return this.namedBy === KEYED ? '' : `${row}.name, ${row}.key,\n       `;
  }
}
