import type { EndState, LiveState } from '../../../api/delay.js';
import { texts } from '../../rows/delay-rows.js';

/** What must be true of a delay, live or ended; what is left out may be anything. Instants as ISO texts. */
export interface AnyRowFilter {
  names?: readonly string[];
  key?: string;
  keyPrefix?: string;
  group?: string;
  groupPrefix?: string;
  /** An object of texts, as JSON text: all that it has to carry. */
  headers?: string;
  dueFrom?: string;
  dueBefore?: string;
  /** A part of its last error, upper or lower case. */
  error?: string;
}

/** Of a live one. */
export interface RowFilter extends AnyRowFilter {
  states?: readonly LiveState[];
  repeating?: boolean;
}

/** Of a line of history. */
export interface EndedFilter extends AnyRowFilter {
  endStates?: readonly EndState[];
  endedFrom?: string;
  endedBefore?: string;
}

/** SQL for the state of the delay `d` at that instant. */
export const stateAt = (now: string): string => `CASE WHEN d.wake_at = 'infinity' THEN 'dead'
            WHEN d.leased_until > ${now} THEN 'running'
            WHEN d.attempts > 0 THEN 'retrying'
            ELSE 'scheduled' END`;

/** Wherever the condition stands: there is a CTE `clock`. */
const STATE = stateAt('(SELECT now FROM clock)');

type Condition<Value> = (value: Value) => [sql: (parameter: string) => string, parameter: string];

type Conditions<Filter> = { [Field in keyof Filter]-?: Condition<NonNullable<Filter[Field]>> };

/** A key or a group that begins so is not before it: an index can begin there. */
const OF_ANY: Conditions<Omit<AnyRowFilter, 'error'>> = {
  names: (names) => [(given) => `d.name = ANY (${given}::text[])`, texts(names)],
  key: (key) => [(given) => `d.key = ${given}::text`, key],
  keyPrefix: (prefix) => [
    (given) => `d.key >= ${given}::text AND pg_catalog.starts_with(d.key, ${given}::text)`,
    prefix,
  ],
  group: (group) => [(given) => `d.group_id = ${given}::text`, group],
  groupPrefix: (prefix) => [
    (given) =>
      `d.group_id >= ${given}::text AND pg_catalog.starts_with(d.group_id, ${given}::text)`,
    prefix,
  ],
  headers: (json) => [(given) => `d.headers @> ${given}::jsonb`, json],
  dueFrom: (from) => [(given) => `d.due_at >= ${given}::timestamptz`, from],
  dueBefore: (before) => [(given) => `d.due_at < ${given}::timestamptz`, before],
};

const errorIn =
  (column: string): Condition<string> =>
  (part) => [
    (given) =>
      `pg_catalog.strpos(pg_catalog.lower(d.${column}), pg_catalog.lower(${given}::text)) > 0`,
    part,
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
    // Not as one condition with the parameter: this one an index is made for.
    (given) => `d.repeat IS ${is ? 'NOT NULL' : 'NULL'} AND ${given}::bool IS NOT NULL`,
    String(is),
  ],
  error: errorIn('last_error'),
};

const OF_ENDED: Conditions<EndedFilter> = {
  ...OF_ANY,
  endStates: (states) => [(given) => `d.state = ANY (${given}::text[])`, texts(states)],
  endedFrom: (from) => [(given) => `d.ended_at >= ${given}::timestamptz`, from],
  endedBefore: (before) => [(given) => `d.ended_at < ${given}::timestamptz`, before],
  error: errorIn('error'),
};

interface Matching {
  sql: string;
  parameters: string[];
}

/**
 * The filter as a condition on the live delay `d`, and its parameters.
 * @param first number of the first parameter
 */
export const matching = (filter: RowFilter, first: number): Matching =>
  built(OF_LIVE, filter, first);

/** The same on the line of history `d`. */
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
 * Condition on `d`, a row of that table: it has one of the names that there are. It is true of each row with a key, and
 * lets a key be looked up in the index on (name, key): each name costs one step in that index.
 */
export const anyNameOf = (table: string): string => `d.name = ANY (ARRAY(
    WITH RECURSIVE step AS (
      (SELECT name FROM ${table} WHERE key IS NOT NULL ORDER BY name LIMIT 1)
      UNION ALL
      SELECT (SELECT n.name FROM ${table} n
              WHERE n.key IS NOT NULL AND n.name > step.name ORDER BY n.name LIMIT 1)
      FROM step WHERE step.name IS NOT NULL
    )
    SELECT name FROM step WHERE name IS NOT NULL))`;
