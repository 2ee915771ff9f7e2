import { type Mutant, patch } from './mutant.js';

const FUNCTIONS = ['integration/functions'];

const ofFunctions = (about: string, from: string, to: string): Mutant => ({
  about,
  patches: [patch('core/store/tables/functions.ts', from, to)],
  tests: FUNCTIONS,
});

/** One delay in a caller's transaction: the functions that write it, and how they are called. */
export const FUNCTIONS_FOR_ONE: Readonly<Record<string, Mutant>> = {
  'tries-a-key-that-is-taken': ofFunctions(
    'tries to insert a key that has a row, and so waits for a writer of it',
    'WHERE NOT EXISTS (SELECT FROM ${tables.delay} t WHERE t.name = _name AND t.key = _key)\n  ON',
    'WHERE true\n  ON',
  ),
  'waits-for-the-row-of-a-cancel': ofFunctions(
    'has a cancel wait for a session that holds its row',
    'FOR UPDATE SKIP LOCKED',
    'FOR UPDATE',
  ),
  'answers-by-the-line-of-history': ofFunctions(
    'answers a cancel by the line of history that it wrote',
    'FROM gone g\n    )\n    SELECT g.id, g.due_at INTO _id, _due FROM gone g;',
    'FROM gone g RETURNING id, due_at\n    )\n    SELECT g.id, g.due_at INTO _id, _due FROM ended g;',
  ),
  'cancels-by-a-plan-for-few': ofFunctions(
    'keeps a plan for an empty table to cancel by',
    `) RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $function$
DECLARE
  _id bigint;`,
    `) RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  _id bigint;`,
  ),
  'schedules-by-a-plan-for-few': ofFunctions(
    'keeps a plan for an empty table to schedule by',
    `SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $function$
DECLARE
  _now`,
    `SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  _now`,
  ),
  'names-a-callers-statement': {
    about: "prepares its statements by name in a caller's session",
    patches: [
      patch(
        'core/transactions/transactions.ts',
        'return await source.query<Row[]>(sql, parameters);',
        'return await source.query<Row[]>({ name: sql.slice(0, 40), text: sql } as never, parameters);',
      ),
    ],
    tests: FUNCTIONS,
  },
};
