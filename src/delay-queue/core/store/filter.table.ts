import type { EndState, LiveState } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import {
  checkGroup,
  checkId,
  checkKey,
  checkName,
  flag,
  choice,
  oneOrMany,
  text,
  type ValueCheck,
} from '../config/checks.js';
import { checkHeaders } from '../config/headers.js';
import { checkInstant } from '../config/instants.js';
import { checkKnownOptions } from '../config/known-options.js';
import { blamedOn } from '../config/refusals.js';
import { shown } from '../config/shown.js';
import { texts } from './rows/delay-rows.js';
import { errorKind, firstLine, stateAt } from './sql/fragments/state-and-error.js';

export const LIVE_STATES: readonly LiveState[] = ['scheduled', 'running', 'retrying', 'dead'];
export const END_STATES: readonly EndState[] = [
  'completed',
  'cancelled',
  'discarded',
  'superseded',
];

/** `erase` selects what belongs to one person. */
type Purpose = 'live' | 'ended' | 'story' | 'erase';
type LiveOrEnded = 'live' | 'ended';

/** An option of the command line. Its value is read by its kind. */
export interface Flag {
  name: string;
  value: 'NAME' | 'KEY' | 'GROUP' | 'TEXT' | 'NAME=TEXT' | 'INSTANT' | 'STATE' | 'ID';
  isMany?: true;
  about: string;
}

type WalkColumn = 'wake_at' | 'ended_at';

interface Field<Value> {
  purposes: readonly Purpose[];
  check: (value: unknown, field: string, rows: LiveOrEnded) => Value;
  /** Condition on row `d`. Its parameter is valid at any place. */
  sql: (parameter: string, value: Value, rows: LiveOrEnded) => string;
  /** Default: the value itself, or an array of its texts. */
  parameter?: (value: Value) => string;
  /** The index that finds it. */
  index?: Index;
  /** What follows for the column by which rows are walked. */
  walk?: `${WalkColumn} ${'>=' | '<'}`;
  /** Texts by which other texts name what it selects. */
  named?: (value: Value) => readonly string[];
  isPrefix?: true;
}

const INDEXES = ['id', 'key', 'group', 'name'] as const;
type Index = (typeof INDEXES)[number];

const field = <Value, const F extends Flag | undefined = undefined>(
  as: Field<Value> & { flag?: F },
): Field<Value> & { flag?: F } => as;

const ANY = ['live', 'ended', 'story'] as const;
const ALSO_ERASE = [...ANY, 'erase'] as const;
const ENDED = ['ended'] as const;

/** The `>=` lets an index scan begin there. */
const beginsWith =
  (column: string) =>
  (prefix: string): string =>
    `${column} >= ${prefix}::text AND pg_catalog.starts_with(${column}, ${prefix}::text)`;

const compared =
  (condition: string) =>
  (instant: string): string =>
    `${condition} ${instant}::timestamptz`;

const errorIn = (rows: LiveOrEnded): string => (rows === 'live' ? 'd.last_error' : 'd.error');

/** Every field of a filter, in the order in which errors list them. */
const FIELDS = {
  name: field({
    purposes: ALSO_ERASE,
    check: oneOrMany(100, checkName),
    sql: (names) => `d.name = ANY (${names}::text[])`,
    index: 'name',
    flag: { name: 'name', value: 'NAME', isMany: true, about: 'This name; repeat it for several.' },
  }),
  key: field({
    purposes: ALSO_ERASE,
    check: checkKey,
    sql: (key) => `d.key = ${key}::text`,
    index: 'key',
    named: (key) => [key],
    flag: { name: 'key', value: 'KEY', about: 'This key, in any name.' },
  }),
  keyPrefix: field({
    purposes: ALSO_ERASE,
    check: text(255),
    sql: beginsWith('d.key'),
    index: 'key',
    named: (prefix) => [prefix],
    isPrefix: true,
    flag: { name: 'key-prefix', value: 'TEXT', about: 'Keys that begin with this.' },
  }),
  group: field({
    purposes: ALSO_ERASE,
    check: oneOrMany<string>(100, checkGroup),
    // An equality alone keeps the order of the index on (group_id, id).
    sql: (given, { length }) =>
      length === 1 ? `d.group_id = ${given}::text` : `d.group_id = ANY (${given}::text[])`,
    parameter: (groups) => (groups.length === 1 ? groups.join() : texts(groups)),
    index: 'group',
    named: (groups) => groups,
    flag: { name: 'group', value: 'GROUP', about: 'This group.' },
  }),
  groupPrefix: field({
    purposes: ANY,
    check: text(255),
    sql: beginsWith('d.group_id'),
    flag: { name: 'group-prefix', value: 'TEXT', about: 'Groups that begin with this.' },
  }),
  /** As a JSON object of texts. */
  headers: field({
    purposes: ALSO_ERASE,
    check: wantedHeaders,
    sql: (json) => `d.headers @> ${json}::jsonb`,
    named: (json) =>
      Object.entries(JSON.parse(json) as object).map(([name, value]) => `${name}:${value}`),
    flag: {
      name: 'header',
      value: 'NAME=TEXT',
      isMany: true,
      about: 'This header; repeat it for several.',
    },
  }),
  dueFrom: field({
    purposes: ANY,
    check: checkInstant,
    sql: compared('d.due_at >='),
    // A delay's wake is never before it is due.
    walk: 'wake_at >=',
    flag: {
      name: 'due-from',
      value: 'INSTANT',
      about: 'Due at or after this instant, like 2026-01-31T09:30:00Z.',
    },
  }),
  dueBefore: field({
    purposes: ANY,
    check: checkInstant,
    sql: compared('d.due_at <'),
    flag: { name: 'due-before', value: 'INSTANT', about: 'Due before this instant.' },
  }),
  error: field({
    purposes: ANY,
    check: text(1_000),
    sql: (part, _, rows) =>
      `pg_catalog.strpos(pg_catalog.lower(${errorIn(rows)}), pg_catalog.lower(${part}::text)) > 0`,
    flag: {
      name: 'error',
      value: 'TEXT',
      about: 'The last error contains this text, ignoring case.',
    },
  }),
  errorLine: field({
    purposes: ANY,
    check: (value, name) => (value === '' ? '' : text(200)(value, name)),
    sql: (line, _, rows) => `(${firstLine(errorIn(rows))} = ${line}::text
            OR (pg_catalog.strpos(${line}::text, '#') > 0 AND ${errorKind(errorIn(rows))} = ${line}::text))`,
  }),
  state: field({
    purposes: ['live', 'ended'],
    check: (value, name, rows): readonly (LiveState | EndState)[] =>
      rows === 'live'
        ? oneOrMany(LIVE_STATES.length, liveState)(value, name)
        : oneOrMany(END_STATES.length, choice(END_STATES))(value, name),
    sql: (states, value, rows) => {
      if (rows === 'ended') return `d.state = ANY (${states}::text[])`;
      return value.join() === 'dead'
        ? `d.wake_at = 'infinity' AND ${states}::text[] IS NOT NULL`
        : `${STATE} = ANY (${states}::text[])`;
    },
    flag: {
      name: 'state',
      value: 'STATE',
      isMany: true,
      about: 'scheduled, running, retrying or dead; repeat it for several.',
    },
  }),
  repeating: field({
    purposes: ['live'],
    check: flag,
    // Separate from the parameter: an index exists for exactly this condition.
    sql: (given, is) => `d.repeat IS ${is ? 'NOT NULL' : 'NULL'} AND ${given}::bool IS NOT NULL`,
  }),
  id: field({
    purposes: ['live'],
    check: oneOrMany(1_000, (one) => String(checkId(one))),
    sql: (ids) => `d.id = ANY (${ids}::bigint[])`,
    index: 'id',
    flag: {
      name: 'id',
      value: 'ID',
      isMany: true,
      about: 'The delay with this id; repeat it for several.',
    },
  }),
  endedFrom: field({
    purposes: ENDED,
    check: checkInstant,
    sql: compared('d.ended_at >='),
    walk: 'ended_at >=',
  }),
  endedBefore: field({
    purposes: ENDED,
    check: checkInstant,
    sql: compared('d.ended_at <'),
    walk: 'ended_at <',
  }),
};

type Fields = typeof FIELDS;
type FieldName = keyof Fields;

/** A checked filter on rows, live or ended; a missing field matches anything. Instants as ISO texts. */
export type RowFilter = {
  readonly [Name in FieldName]?: Readonly<ReturnType<Fields[Name]['check']>> | undefined;
};

const ALL = Object.entries(FIELDS) as unknown as [FieldName, Field<unknown> & { flag?: Flag }][];

/** Valid anywhere in a statement; needs the CTE `clock`. */
const STATE = stateAt('(SELECT now FROM clock)');

/** A filter from empty input would otherwise match, and change, every delay. */
function wantedHeaders(value: unknown): string {
  const json = checkHeaders(value);
  if (json !== null) return json;
  throw new DelayInvalidError(
    'headers',
    'needs at least one header: an empty set matches every delay',
  );
}

const liveState: ValueCheck<LiveState> = (value, name) => {
  if (!END_STATES.some((end) => end === value)) return choice(LIVE_STATES)(value, name);
  throw new DelayInvalidError(
    name,
    `must be one of ${LIVE_STATES.join(', ')}, not ${shown(value)}: \`history\` lists what has ended`,
  );
};

/** @throws DelayInvalidError naming the field */
function parseFilter(filter: unknown, purpose: Purpose, mayBeEmpty: boolean): RowFilter {
  const fields = ALL.filter(([, { purposes }]) => purposes.includes(purpose));
  const names = fields.map(([name]) => name);
  const given = checkKnownOptions(filter, 'filter', names);
  const rows = purpose === 'ended' ? 'ended' : 'live';
  // No prototype: an absent field must not be found in `Object.prototype`.
  const parsed: Record<string, unknown> = Object.create(null);
  for (const [name, { check }] of fields) {
    if (name in given) parsed[name] = blamedOn('filter', () => check(given[name], name, rows));
  }
  if (mayBeEmpty || Object.keys(parsed).length > 0) return parsed;
  throw new DelayInvalidError(
    'filter',
    'needs at least one condition: an empty filter matches every delay',
  );
}

/** @throws DelayInvalidError naming the field */
export const liveFilter = (filter: unknown, { mayBeEmpty }: { mayBeEmpty: boolean }): RowFilter =>
  parseFilter(filter, 'live', mayBeEmpty);

/** @throws DelayInvalidError naming the field */
export const endedFilter = (filter: unknown): RowFilter => parseFilter(filter, 'ended', true);

/** @throws DelayInvalidError naming the field */
export const storyFilter = (about: unknown): RowFilter =>
  typeof about === 'string' ? { key: checkKey(about) } : parseFilter(about, 'story', false);

/**
 * A filter of live delays, or of ended ones if it gives a state or an instant of the end.
 * @throws DelayInvalidError naming the field
 */
export function liveOrEndedFilter(filter: unknown): { rows: LiveOrEnded; filter: RowFilter } {
  const names = ALL.map(([name]) => name);
  const given = checkKnownOptions(filter, 'filter', names);
  const states: unknown[] = [given['state']].flat();
  const isPast =
    ALL.some(([name, { purposes }]) => purposes === ENDED && name in given) ||
    states.some((state) => END_STATES.some((end) => end === state));
  return isPast
    ? { rows: 'ended', filter: endedFilter(given) }
    : { rows: 'live', filter: liveFilter(given, { mayBeEmpty: true }) };
}

/**
 * A filter of what belongs to one person.
 * @throws DelayInvalidError naming the field
 */
export function eraseFilter(filter: unknown): RowFilter {
  const wanted = parseFilter(filter, 'erase', false);
  if (Object.keys(wanted).some((name) => name !== 'name')) return wanted;
  const names = ALL.filter(([, { named }]) => named !== undefined).map(([name]) => name);
  throw new DelayInvalidError(
    'filter',
    `needs a ${names.slice(0, -1).join(', ')} or ${names.at(-1)}: a name alone matches what belongs to all`,
  );
}

interface MatchingSql {
  sql: string;
  parameters: string[];
}

/**
 * The filter as a condition on row `d`, with its parameters, numbered from `first`.
 * @param table whose index on (name, key) finds a key of any name
 */
export function matching(
  filter: RowFilter,
  first: number,
  { rows = 'live', table }: { rows?: LiveOrEnded; table?: string | undefined } = {},
): MatchingSql {
  const parameters: string[] = [];
  const conditions: string[] = [];
  for (const [name, { sql, parameter = toParameter }] of ALL) {
    const value = filter[name];
    if (value === undefined) continue;
    conditions.push(sql(`$${first + parameters.length}`, value, rows));
    parameters.push(parameter(value));
  }
  if (table !== undefined && filter.name === undefined && uses(filter, 'key')) {
    conditions.push(hasKnownName(table));
  }
  return { sql: conditions.length === 0 ? 'true' : conditions.join(' AND '), parameters };
}

/** What a filter says of the column by which rows are walked. */
export function walkBounds(filter: RowFilter, first: number, column: WalkColumn): MatchingSql {
  const bounds = ALL.filter(
    ([name, { walk }]) => walk?.startsWith(column) && filter[name] !== undefined,
  );
  const conditions = bounds.map(([, { walk }], at) => `d.${walk} $${first + at}::timestamptz`);
  return {
    sql: ['true', ...conditions].join(' AND '),
    parameters: bounds.map(([name]) => String(filter[name])),
  };
}

const toParameter = (value: unknown): string =>
  Array.isArray(value) ? texts(value as string[]) : String(value);

const uses = (filter: RowFilter, index: Index): boolean =>
  ALL.some(([name, { index: its }]) => its === index && filter[name] !== undefined);

/** The index that leads to the rows of a filter; that of names leads to rows with a key alone. */
export const indexFor = (filter: RowFilter, rows: LiveOrEnded): Index | undefined =>
  INDEXES.find((index) => (index !== 'id' || rows === 'live') && uses(filter, index));

/** The part of a filter that these indexes find. */
export const indexedBy = (filter: RowFilter, ...indexes: readonly Index[]): RowFilter =>
  Object.fromEntries(
    ALL.flatMap(([name, { index }]) =>
      index !== undefined && indexes.includes(index) && filter[name] !== undefined
        ? [[name, filter[name]]]
        : [],
    ),
  );

/** The texts by which other texts name what a filter selects. */
export const namedBy = (filter: RowFilter): { text: string; isPrefix: boolean }[] =>
  ALL.flatMap(([name, { named, isPrefix = false }]) =>
    filter[name] === undefined
      ? []
      : (named?.(filter[name]) ?? []).map((each) => ({ text: each, isPrefix })),
  );

/**
 * Condition on row `d` of that table: its name is one of all names there. It lets the index on
 * (name, key) find a key, at one step in the index for each name.
 */
const hasKnownName = (table: string): string => `d.name = ANY (${namesWithKeys(table)})`;

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

export type FilterFlag = Extract<Fields[FieldName]['flag'], Flag>['name'];

/** The fields that the command line takes, by flag. */
export const FILTER_FLAGS = Object.fromEntries(
  ALL.flatMap(([name, { flag: option }]) =>
    option === undefined ? [] : [[option.name, { ...option, field: name }]],
  ),
) as Record<FilterFlag, Flag & { field: FieldName }>;
