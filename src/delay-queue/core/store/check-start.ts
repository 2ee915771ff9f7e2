import { given, type Runner } from '../database/runner.js';
import { allTables, ON_PRIMARY, qualifiedTables } from '../database/tables.js';
import { type Finding, judge, notice, refusal } from './checks/finding.js';
import { judgeIds } from './checks/identity.js';
import { findStranger } from './checks/owners.js';
import { SERVER, SERVER_CHECKS } from './checks/server.js';
import { TABLE_CHECKS, TABLES, triggers, uncallable } from './checks/tables.js';
import { type TextAnswer, reader, selected } from './rows/columns.js';
import { texts } from './rows/delay-rows.js';
import { functionSignatures } from './tables/functions.js';
import { publicSignatures } from './tables/public-functions.js';

/** What a start has found that does not stop it. */
export interface StartFindings {
  /** The limits of this role that are too short, in words; null: none. */
  limits: string | null;
  /** What works, but should be reported. */
  advice: readonly string[];
}

/**
 * Runs the checks that stop a node. @throws DelayConfigError for the first, with the remedy
 * @param tablesIn TypeORM's `schema`
 */
export async function checkStart(
  runner: Runner,
  schema: string,
  tablesIn?: string,
): Promise<StartFindings> {
  const tables = qualifiedTables(schema);
  const [answer] = await runner.query<TextAnswer>(`SELECT ${selected(READ)}`, [
    texts(allTables(tables)),
    texts(functionSignatures(tables)),
    texts(publicSignatures(tables)),
  ]);
  const found = { ...read(given(answer)), schema };
  const [wrong] = [...judge(SERVER_CHECKS, found), ...judge(TABLE_CHECKS, found)];
  const fatal = wrong ?? (await findStranger(runner, schema, false));
  if (fatal !== undefined) throw refusal(fatal);
  const ids = await judgeIds(runner, schema);
  if (ids.level === 'problem') throw refusal(ids);
  const environments = await findEnvironments(runner, schema, tablesIn);
  const advice = [triggers(found.unpinned), uncallable(found.uncallable, schema), ids, environments]
    .filter((finding) => finding !== undefined)
    .filter(({ level }) => level !== 'ok');
  return { limits: found.limits, advice: advice.map((finding) => refusal(finding).message) };
}

const READ = { ...SERVER, ...TABLES };
const read = reader(READ);

/**
 * TypeORM's `schema` and the `search_path` of a role say where the application's tables are, not
 * where its delays are. A path alone proves nothing; it does if another schema has a table of the
 * same name.
 */
async function findEnvironments(
  runner: Runner,
  schema: string,
  tablesIn: string | undefined,
): Promise<Finding | undefined> {
  if (schema !== 'delay_queue') return undefined;
  const theirs = tablesIn ?? (await schemaOnPath(runner, schema));
  if (theirs === undefined || theirs === 'public') return undefined;
  return notice(
    'environments',
    `the application's tables are in the schema ${theirs}, and its delays in delay_queue`,
    {
      means: 'Environments that differ only by schema share their delays.',
      todo:
        `Give each its own: forRoot({ schema: 'delay_queue_${theirs}' }), and ` +
        'delayQueueMigrations with the same.',
    },
  );
}

/** Ignores the database's own path, which all environments in it share. */
async function schemaOnPath(runner: Runner, schema: string): Promise<string | undefined> {
  const [found] = await runner.query<{ theirs: string }>(
    `${ON_PRIMARY}
     SELECT pg_catalog.current_schema()::text AS theirs FROM pg_catalog.pg_settings
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
