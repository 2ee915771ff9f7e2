import { migrateCommand, toMigrate } from '../../database/driver-errors.js';
import { qualifiedTables } from '../../database/tables.js';
import { asFlag, asText, type RowOf } from '../rows/columns.js';
import { type Check, type Finding, notice } from './finding.js';
import { TIME_LIMIT_MS_MIN, TIME_LIMITS } from './server.js';

/**
 * Trigger functions on these tables that depend on the session's path, each with the remedy: the
 * engine's sessions do not find the application's tables by theirs.
 */
const UNPINNED = `
  SELECT pg_catalog.string_agg(DISTINCT 'ALTER FUNCTION ' || f.identity || ' SET search_path = '
           || pg_catalog.quote_ident(f.schema) || ', pg_temp', '; ')
  FROM pg_catalog.pg_trigger t
  JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang AND l.lanispl
  JOIN LATERAL pg_catalog.pg_identify_object('pg_catalog.pg_proc'::regclass, p.oid, 0) f ON true
  WHERE NOT t.tgisinternal AND t.tgrelid = ANY (
      SELECT pg_catalog.to_regclass(name)::oid FROM pg_catalog.unnest($1::text[]) AS name)
    AND NOT EXISTS (SELECT FROM pg_catalog.unnest(p.proconfig) AS setting
                    WHERE pg_catalog.starts_with(setting, 'search_path='))`;

const named = (parameter: string, condition: string): string =>
  `(SELECT pg_catalog.string_agg(name, ', ') FROM pg_catalog.unnest(${parameter}::text[]) AS name WHERE ${condition})`;

/** The tables that are there, or not; without one, the functions. */
const those = (are: 'NULL' | 'NOT NULL'): string =>
  `COALESCE(${named('$1', `pg_catalog.to_regclass(name) IS ${are}`)}, ${named('$2', `pg_catalog.to_regprocedure(name) IS ${are}`)})`;

/**
 * What this role finds of the library's tables and functions. Parameters: the tables, the functions
 * that nodes call, the functions for other clients.
 */
export const TABLES = {
  missing: asText<string | null>(those('NULL'), 'missing'),
  isPartial: asFlag(`(${those('NULL')} IS NOT NULL AND ${those('NOT NULL')} IS NOT NULL)`),
  uncallable: asText<string | null>(
    named('$3', 'pg_catalog.to_regprocedure(name) IS NULL'),
    'uncallable',
  ),
  forbidden: asText<string | null>(
    named(
      '$2',
      "NOT pg_catalog.has_function_privilege(pg_catalog.to_regprocedure(name), 'EXECUTE')",
    ),
    'forbidden',
  ),
  guarded: asText<string | null>(
    named('$1', 'pg_catalog.row_security_active(pg_catalog.to_regclass(name))'),
    'guarded',
  ),
  limits: asText<string | null>(
    `(SELECT pg_catalog.string_agg(name || ' = ' || setting || ' ms', ', ' ORDER BY name) FROM pg_catalog.pg_settings
      WHERE name IN ('${TIME_LIMITS.join("', '")}') AND setting::bigint BETWEEN 1 AND ${TIME_LIMIT_MS_MIN - 1})`,
    'limits',
  ),
  unpinned: asText<string | null>(`(${UNPINNED})`, 'unpinned'),
};

/**
 * Tables that no node starts on. The doctor compares every definition and right instead, also those that do no harm to
 * the role that it has.
 */
export const TABLE_CHECKS: readonly Check<
  RowOf<typeof TABLES> & { schema: string; role: string }
>[] = [
  {
    id: 'drift',
    isWrong: ({ isPartial }) => isPartial,
    found: ({ missing, schema }) =>
      `${missing} not found, though the rest of the schema is there: run ${migrateCommand(schema)}`,
    means:
      'Unless an upgrade brings them, a tool has dropped them, with what was in them: prisma db push, drizzle-kit push ' +
      "and MikroORM's schema:update may drop what no model names.",
    todo:
      'Exclude the schema there: docs/orms.md, "Tools that change schemas". TypeORM does not run a migration again ' +
      'that it has noted.',
  },
  {
    id: 'drift',
    isWrong: ({ missing }) => missing !== null,
    found: ({ missing, schema }) => `${missing} not found: ${toMigrate(schema)}`,
  },
  {
    id: 'rights',
    isWrong: ({ forbidden }) => forbidden !== null,
    found: ({ forbidden }) => `the role of the application may not execute ${forbidden}`,
    todo: 'Grant it as the owner of the tables.',
    sql: ({ schema, role }) =>
      `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${qualifiedTables(schema).schema} TO ${role}`,
  },
  {
    id: 'row-security',
    isWrong: ({ guarded }) => guarded !== null,
    found: ({ guarded }) => `row-level security is active for this role on ${guarded}`,
    means: 'It would not see some delays, or could not write them: no node starts.',
    todo: 'ALTER TABLE … DISABLE ROW LEVEL SECURITY there, or give the role BYPASSRLS.',
  },
];

export const uncallable = (functions: string | null, schema: string): Finding | undefined =>
  functions === null
    ? undefined
    : notice('drift', `${functions} not found`, {
        means: 'Nodes start without, but calls from SQL fail (42883).',
        todo: `Run ${migrateCommand(schema)}.`,
      });

export const triggers = (unpinned: string | null): Finding | undefined =>
  unpinned === null
    ? undefined
    : notice('triggers', 'triggers on the tables of the library also fire in its own sessions', {
        means:
          'Their search_path is only pg_catalog: names without a schema in such a function are not found (42P01), and ' +
          'the claim fails.',
        todo: 'Give the functions a path of their own.',
        sql: unpinned,
      });
