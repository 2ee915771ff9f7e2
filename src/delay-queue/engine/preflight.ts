import { DelayConfigError } from '../delay.errors.js';
import { texts } from '../store/array-literal.js';
import type { Runner } from '../store/rows.js';
import { tablesOf } from '../store/schema.js';

const SERVER_VERSION_MIN = 140_000;

/**
 * Looks at the database before anything starts.
 * @throws DelayConfigError that says what to do
 */
export async function preflight(runner: Runner, schema: string): Promise<void> {
  const tables = tablesOf(schema);
  const [found] = await runner.query<{
    version: string;
    isolation: string;
    replica: string;
    missing: string | null;
  }>(
    `SELECT current_setting('server_version_num') AS version,
            current_setting('default_transaction_isolation') AS isolation,
            pg_is_in_recovery()::text AS replica,
            (SELECT string_agg(name, ', ') FROM unnest($1::text[]) AS name
             WHERE to_regclass(name) IS NULL) AS missing`,
    [texts([tables.delay, tables.history, tables.node])],
  );
  if (found === undefined) throw new DelayConfigError('the database gave no answer');
  if (Number(found.version) < SERVER_VERSION_MIN) {
    throw new DelayConfigError(`Postgres 14 or later is needed; this is ${found.version}`);
  }
  if (found.replica === 'true') {
    throw new DelayConfigError('this server is a replica in recovery; delays need the primary');
  }
  if (found.isolation !== 'read committed') {
    throw new DelayConfigError(
      `default_transaction_isolation is '${found.isolation}', and delays need 'read committed': ` +
        'ALTER ROLE … SET default_transaction_isolation, and choose another level per transaction',
    );
  }
  if (found.missing) {
    throw new DelayConfigError(
      `${found.missing} not found: add ...delayQueueMigrations(` +
        `${schema === 'delay_queue' ? '' : `{ schema: '${schema}' }`}) to the DataSource's ` +
        'migrations and run them, or set the option schema',
    );
  }
}
