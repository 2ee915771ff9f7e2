import type { Runner } from '../store/wire/runner.js';

/**
 * TypeORM's `schema` and a role's or a connection's `search_path` say where the application's tables are, and not where
 * its delays are. A path of one's own is no sign by itself: many roles have one. It is one where another schema has a
 * table of the same name.
 *
 * @param tablesIn TypeORM's `schema`
 * @returns advice
 */
export async function lookForEnvironments(
  runner: Runner,
  schema: string,
  tablesIn: string | undefined,
): Promise<string[]> {
  if (schema !== 'delay_queue') return [];
  const theirs = tablesIn ?? (await schemaOfPath(runner, schema));
  if (theirs === undefined || theirs === 'public') return [];
  return [
    `the application's tables are in the schema ${theirs}, and its delays in delay_queue: environments that are ` +
      `told apart by their schemas share them. Give each its own: forRoot({ schema: 'delay_queue_${theirs}' }), and ` +
      'delayQueueMigrations with the same',
  ];
}

/** Of this role or connection, not of the database: that one holds for all who share it. */
async function schemaOfPath(runner: Runner, schema: string): Promise<string | undefined> {
  const [found] = await runner.query<{ theirs: string }>(
    `SELECT pg_catalog.current_schema()::text AS theirs FROM pg_catalog.pg_settings
     WHERE name = 'search_path' AND source IN ('user', 'database user', 'client', 'session')
       AND pg_catalog.current_schema() NOT IN ('public', $1::text)
       AND EXISTS (
         SELECT FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
         JOIN pg_catalog.pg_class twin ON twin.relname = t.relname AND twin.relnamespace <> n.oid
         JOIN pg_catalog.pg_namespace other ON other.oid = twin.relnamespace
         WHERE n.nspname = pg_catalog.current_schema() AND t.relkind IN ('r', 'p') AND twin.relkind IN ('r', 'p')
           AND other.nspname <> ALL (ARRAY['information_schema', $1::text]) AND NOT pg_catalog.starts_with(other.nspname, 'pg_'))`,
    [schema],
  );
  return found?.theirs;
}
