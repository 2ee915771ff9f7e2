import type { EndState, LiveState } from '../../../api/delay.js';
import { type Tables, wholeEpochMs } from '../../../database/tables.js';
import { texts } from '../../rows/delay-rows.js';
import { type LockWait, STAYS_APART } from './clock.js';

/*
 * Sub-selects for LATERAL, which look up one row at a time. One that locks, or has an OFFSET, is
 * not merged with the outer query. Otherwise a kept plan would be the one for a table of a few rows
 * and arrays of ten: compare each row with each (ADR 0017).
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
   * Condition: no calling attempt holds delay `d`, because an attempt changes its own delay in
   * another way. Parameters after those of the input: id and epoch of the attempt, or two arrays of
   * them.
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
 *   and leaves it out, but its lock stays until the transaction ends: see
 *   `lookOnce`.
 * - Leased, and the lease has ended: locked if no other session has it. The last statement of a
 *   transactional attempt may, and no write waits for a handler.
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

/* Besides the rule, the column holds its end, what the due time was computed from, and `declared`. */

/** The repeat of a delay whose first instant is `due`: `every` counts from there. */
export const repeatFrom = (repeat: string, due: string): string =>
  `CASE WHEN ${repeat} -> 'every'::text IS NULL THEN ${repeat}
             ELSE ${repeat} || pg_catalog.jsonb_build_object('from', ${wholeEpochMs(due)}) END`;

/** The rule as given. */
export const asSaid = (repeat: string): string =>
  `(${repeat} - '{from,offset,tz,ran,until,limit}'::text[])`;

/** The repeat of a delay whose rule stays: it counts on, to the end that the call gives. */
export const goingOn = (old: string, given: string): string =>
  `(${old} - '{until,limit}'::text[] || ${given})`;

export const isDeclared = (repeat: string): string => `${repeat} -> 'declared'::text IS NOT NULL`;

/**
 * Condition: the call's rule equals the row's, without a first run: the row keeps its instants.
 */
export const goesOnAsItDid = (repeat: string, extras: string): string =>
  `(${repeat} IS NOT NULL AND ${asSaid(repeat)} = ${asSaid(`(${extras}::jsonb -> 'repeat'::text)`)} AND NOT (${extras}::jsonb ->> 'first'::text)::bool) IS TRUE`;

/** A filter on delays, live or ended; a missing field matches anything. Instants as ISO texts. */
export interface AnyRowFilter {
  names?: readonly string[];
  key?: string;
  keyPrefix?: string;
  groups?: readonly string[];
  groupPrefix?: string;
  /** A JSON object of texts, all of which the delay must have. */
  headers?: string;
  dueFrom?: string;
  dueBefore?: string;
  /** A part of the last error, in any case. */
  error?: string;
  /** Its first line, as {@link firstLine} or {@link errorKind} has it. */
  errorLine?: string;
  ids?: readonly string[];
}

/** Filter on live delays. */
export interface RowFilter extends AnyRowFilter {
  states?: readonly LiveState[];
  repeating?: boolean;
}

/** Filter on history rows. */
export interface EndedFilter extends AnyRowFilter {
  endStates?: readonly EndState[];
  endedFrom?: string;
  endedBefore?: string;
}

/** SQL for the state of delay `d` at that instant. */
export const stateAt = (now: string): string => `CASE WHEN d.wake_at = 'infinity' THEN 'dead'
            WHEN d.leased_until > ${now} THEN 'running'
            WHEN d.attempts > 0 THEN 'retrying'
            ELSE 'scheduled' END`;

/** Valid anywhere in a statement; needs the CTE `clock`. */
const STATE = stateAt('(SELECT now FROM clock)');

type Condition<Value> = (value: Value) => [sql: (parameter: string) => string, parameter: string];

type Conditions<Filter> = { [Field in keyof Filter]-?: Condition<NonNullable<Filter[Field]>> };

/** The `>=` beside each prefix lets an index scan begin there. */
const OF_ANY: Conditions<Omit<AnyRowFilter, 'error' | 'errorLine'>> = {
  names: (names) => [(given) => `d.name = ANY (${given}::text[])`, texts(names)],
  key: (key) => [(given) => `d.key = ${given}::text`, key],
  keyPrefix: (prefix) => [
    (given) => `d.key >= ${given}::text AND pg_catalog.starts_with(d.key, ${given}::text)`,
    prefix,
  ],
  // An equality alone keeps the order of the index on (group_id, id).
  groups: ([group = '', ...others]) =>
    others.length === 0
      ? [(given) => `d.group_id = ${given}::text`, group]
      : [(given) => `d.group_id = ANY (${given}::text[])`, texts([group, ...others])],
  groupPrefix: (prefix) => [
    (given) =>
      `d.group_id >= ${given}::text AND pg_catalog.starts_with(d.group_id, ${given}::text)`,
    prefix,
  ],
  headers: (json) => [(given) => `d.headers @> ${given}::jsonb`, json],
  dueFrom: (from) => [(given) => `d.due_at >= ${given}::timestamptz`, from],
  dueBefore: (before) => [(given) => `d.due_at < ${given}::timestamptz`, before],
  ids: (ids) => [(given) => `d.id = ANY (${given}::bigint[])`, texts(ids)],
};

const errorIn =
  (column: string): Condition<string> =>
  (part) => [
    (given) =>
      `pg_catalog.strpos(pg_catalog.lower(d.${column}), pg_catalog.lower(${given}::text)) > 0`,
    part,
  ];

/** SQL for the first line of an error, at most 200 characters; '': none. */
export const firstLine = (error: string): string =>
  `COALESCE(pg_catalog.left(pg_catalog.split_part(${error}, pg_catalog.chr(10), 1), 200), '')`;

const NUMBERED = '[A-Za-z0-9_#]*[0-9#][A-Za-z0-9_#]*';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const MONTH =
  '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:uary|ruary|ch|il|e|y|ust|tember|ober|ember)?';

/**
 * What differs between errors of one kind, each replaced in what the one before has left: one
 * pattern for all takes 50 times as long. Without a backslash, which a session may read as an escape.
 */
const VOLATILE = [
  // user@host
  '[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]*[A-Za-z0-9]',
  // A UUID; a hexadecimal number
  '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}',
  '[[:<:]][0-9a-fA-F]{8,}[[:>:]]',
  // A number, an id, an address or a time: words with a digit, joined or not
  `${NUMBERED}(?:[-.:/+,]+${NUMBERED})*`,
  `(?:${DAY},? )?(?:# )?${MONTH},? #`,
];

/** SQL for the first line of an error with `#` for what may differ in it, at most 200 characters; '': none. */
export const errorKind = (error: string): string => {
  const line = `pg_catalog.left(pg_catalog.split_part(${error}, pg_catalog.chr(10), 1), 300)`;
  const kind = VOLATILE.reduce(
    (text, part) => `pg_catalog.regexp_replace(${text}, '${part}', '#', 'g')`,
    line,
  );
  return `COALESCE(pg_catalog.left(${kind}, 200), '')`;
};

const errorLineIn =
  (column: string): Condition<string> =>
  (line) => [
    (given) => `(${firstLine(`d.${column}`)} = ${given}::text
            OR (pg_catalog.strpos(${given}::text, '#') > 0 AND ${errorKind(`d.${column}`)} = ${given}::text))`,
    line,
  ];

const OF_LIVE: Conditions<RowFilter> = {
  ...OF_ANY,
  states: (states) => [
    (given) =>
      states.join() === 'dead'
        ? `d.wake_at = 'infinity' AND ${given}::text[] IS NOT NULL`
        : `${STATE} = ANY (${given}::text[])`,
    texts(states),
  ],
  repeating: (is) => [
    // Separate from the parameter: an index exists for exactly this condition.
    (given) => `d.repeat IS ${is ? 'NOT NULL' : 'NULL'} AND ${given}::bool IS NOT NULL`,
    String(is),
  ],
  error: errorIn('last_error'),
  errorLine: errorLineIn('last_error'),
};

const OF_ENDED: Conditions<EndedFilter> = {
  ...OF_ANY,
  endStates: (states) => [(given) => `d.state = ANY (${given}::text[])`, texts(states)],
  endedFrom: (from) => [(given) => `d.ended_at >= ${given}::timestamptz`, from],
  endedBefore: (before) => [(given) => `d.ended_at < ${given}::timestamptz`, before],
  error: errorIn('error'),
  errorLine: errorLineIn('error'),
};

interface Matching {
  sql: string;
  parameters: string[];
}

/** The filter as a condition on live delay `d`, with its parameters, numbered from `first`. */
export const matching = (filter: RowFilter, first: number): Matching =>
  built(OF_LIVE, filter, first);

/** The same for history row `d`. */
export const matchingEnded = (filter: EndedFilter, first: number): Matching =>
  built(OF_ENDED, filter, first);

function built<Filter>(all: Conditions<Filter>, filter: Filter, first: number): Matching {
  const parameters: string[] = [];
  const conditions: string[] = [];
  for (const field of Object.keys(all) as (keyof Filter)[]) {
    const value = filter[field];
    if (value === undefined || value === null) continue;
    const [sql, parameter] = all[field](value);
    conditions.push(sql(`$${first + parameters.length}`));
    parameters.push(parameter);
  }
  return { sql: conditions.length === 0 ? 'true' : conditions.join(' AND '), parameters };
}

/**
 * Condition on row `d` of that table: its name is one of all names there, as for each row with a
 * key. It lets the index on (name, key) find a key, at one step in the index for each name.
 */
export const anyNameOf = (table: string): string => `d.name = ANY (${namesWithKeys(table)})`;

/** SQL for the names of all rows with a key, as an array. */
export const namesWithKeys = (table: string): string => `ARRAY(
    WITH RECURSIVE step AS (
      (SELECT name FROM ${table} WHERE key IS NOT NULL ORDER BY name LIMIT 1)
      UNION ALL
      SELECT (SELECT n.name FROM ${table} n
              WHERE n.key IS NOT NULL AND n.name > step.name ORDER BY n.name LIMIT 1)
      FROM step WHERE step.name IS NOT NULL
    )
    SELECT name FROM step WHERE name IS NOT NULL)`;
