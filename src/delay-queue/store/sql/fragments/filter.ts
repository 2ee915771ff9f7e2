import type { EndState, LiveState } from '../../../api/delay.js';
import { texts } from '../../rows/delay-rows.js';

/** A filter on delays, live or ended; a missing field matches anything. Instants as ISO texts. */
export interface AnyRowFilter {
  names?: readonly string[];
  key?: string;
  keyPrefix?: string;
  group?: string;
  groupPrefix?: string;
  /** A JSON object of texts, all of which the delay must have. */
  headers?: string;
  dueFrom?: string;
  dueBefore?: string;
  /** A part of the last error, in any case. */
  error?: string;
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
    // Separate from the parameter: an index exists for exactly this condition.
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
export const anyNameOf = (table: string): string => `d.name = ANY (ARRAY(
    WITH RECURSIVE step AS (
      (SELECT name FROM ${table} WHERE key IS NOT NULL ORDER BY name LIMIT 1)
      UNION ALL
      SELECT (SELECT n.name FROM ${table} n
              WHERE n.key IS NOT NULL AND n.name > step.name ORDER BY n.name LIMIT 1)
      FROM step WHERE step.name IS NOT NULL
    )
    SELECT name FROM step WHERE name IS NOT NULL))`;
