import type { LiveState } from '../../../delay/delay.js';
import { texts } from '../../wire/arrays.js';

/** What must be true of a delay; what is left out may be anything. Instants as ISO texts. */
export interface RowFilter {
  names?: readonly string[];
  key?: string;
  keyPrefix?: string;
  group?: string;
  groupPrefix?: string;
  /** An object of texts, as JSON text: all that it has to carry. */
  headers?: string;
  states?: readonly LiveState[];
  dueFrom?: string;
  dueBefore?: string;
  repeating?: boolean;
  /** A part of its last error, upper or lower case. */
  error?: string;
}

/** SQL for the state of the delay `d` at that instant. */
export const stateAt = (now: string): string => `CASE WHEN d.wake_at = 'infinity' THEN 'dead'
            WHEN d.leased_until > ${now} THEN 'running'
            WHEN d.attempts > 0 THEN 'retrying'
            ELSE 'scheduled' END`;

/** Wherever the condition stands: there is a CTE `clock`. */
const STATE = stateAt('(SELECT now FROM clock)');

type Condition<Value> = (value: Value) => [sql: (parameter: string) => string, parameter: string];

/** A key or a group that begins so is not before it: an index can begin there. */
const CONDITIONS: { [Field in keyof RowFilter]-?: Condition<NonNullable<RowFilter[Field]>> } = {
  names: (names) => [(given) => `d.name = ANY (${given}::text[])`, texts(names)],
  key: (key) => [(given) => `d.key = ${given}::text`, key],
  keyPrefix: (prefix) => [
    (given) => `d.key >= ${given}::text AND starts_with(d.key, ${given}::text)`,
    prefix,
  ],
  group: (group) => [(given) => `d.group_id = ${given}::text`, group],
  groupPrefix: (prefix) => [
    (given) => `d.group_id >= ${given}::text AND starts_with(d.group_id, ${given}::text)`,
    prefix,
  ],
  headers: (json) => [(given) => `d.headers @> ${given}::jsonb`, json],
  states: (states) => [
    (given) =>
      states.join() === 'dead'
        ? `d.wake_at = 'infinity' AND ${given}::text[] IS NOT NULL`
        : `${STATE} = ANY (${given}::text[])`,
    texts(states),
  ],
  dueFrom: (from) => [(given) => `d.due_at >= ${given}::timestamptz`, from],
  dueBefore: (before) => [(given) => `d.due_at < ${given}::timestamptz`, before],
  repeating: (is) => [
    // Not as one condition with the parameter: this one an index is made for.
    (given) => `d.repeat IS ${is ? 'NOT NULL' : 'NULL'} AND ${given}::bool IS NOT NULL`,
    String(is),
  ],
  error: (part) => [(given) => `strpos(lower(d.last_error), lower(${given}::text)) > 0`, part],
};

/**
 * The filter as a condition on the delay `d`, and its parameters.
 * @param first number of the first parameter
 */
export function matching(filter: RowFilter, first: number): { sql: string; parameters: string[] } {
  const parameters: string[] = [];
  const conditions: string[] = [];
  for (const field of Object.keys(CONDITIONS) as (keyof RowFilter)[]) {
    const value = filter[field];
    if (value === undefined) continue;
    const [sql, parameter] = (CONDITIONS[field] as Condition<typeof value>)(value);
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
