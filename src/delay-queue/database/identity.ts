import { DelayConfigError } from '../api/errors.js';
import { tablesOf } from './tables.js';
import type { Runner } from './runner.js';

/**
 * Logical replication copies rows but not sequences: the ids begin again on the new server. Each
 * `schedule` would then meet a taken id and roll back its caller's transaction, and an id in
 * history would stand for two delays. Ids too large for JavaScript were set by hand, and do not
 * count.
 *
 * History has no index on its ids, and may be large: only its latest rows are read.
 *
 * @returns advice, where the role may not read the sequence
 * @throws DelayConfigError with the statement that repairs it
 */
export async function lookAtIdentity(runner: Runner, schema: string): Promise<string[]> {
  const { delay, history, permit, schema: quoted } = tablesOf(schema);
  const [found] = await runner.query<{
    readable: string | null;
    last: string | null;
    most: string | null;
  }>(
    `SELECT pg_catalog.has_sequence_privilege(s.name, 'USAGE, SELECT')::text AS readable, q.last_value::text AS last,
            GREATEST(${mostOf(delay)}, ${mostOf(permit)},
                     (SELECT pg_catalog.max(id) FROM (SELECT id FROM ${history} ORDER BY ended_at DESC LIMIT 1000) late WHERE ${NAMEABLE})
            )::text AS most
     FROM (SELECT pg_catalog.pg_get_serial_sequence($1::text, 'id') AS name) s
     LEFT JOIN pg_catalog.pg_sequences q ON pg_catalog.format('%I.%I', q.schemaname, q.sequencename) = s.name`,
    [delay],
  );
  const { readable, last, most } = found ?? {};
  if (!readable) {
    throw new DelayConfigError(
      `the column id of ${delay} is no longer an identity column, as after a copy by a tool that does not know them: ` +
        `ALTER TABLE ${delay} ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY as the owner of the tables, ` +
        `then ${setval(schema)}`,
    );
  }
  if (readable !== 'true') {
    return [
      `this role may not read the sequence of ${delay}, and cannot check whether its ids begin again, as after logical ` +
        `replication: GRANT SELECT ON ALL SEQUENCES IN SCHEMA ${quoted}`,
    ];
  }
  if (Number(most) <= Number(last)) return [];
  throw new DelayConfigError(
    `the next id of ${delay} is ${Number(last) + 1}, and there are ids up to ${most}. ${identityMended(schema)}`,
  );
}

/** What has happened where ids are already taken, and the remedy. */
export const identityMended = (schema: string): string =>
  `The ids of ${tablesOf(schema).delay} begin again, as after logical replication: ${setval(schema)} ` +
  'as the owner of the tables';

/** Never lowers ids. For use by hand: the exact types make its functions those of Postgres. */
function setval(schema: string): string {
  const { delay, history, permit } = tablesOf(schema);
  const sequence = `pg_get_serial_sequence('${delay}'::text, 'id'::text)::regclass`;
  const taken = [delay, history, permit].map(mostOf);
  return `SELECT setval(${sequence}, GREATEST(nextval(${sequence}), ${taken.join(', ')}))`;
}

const NAMEABLE = `id <= ${Number.MAX_SAFE_INTEGER}`;

const mostOf = (table: string): string =>
  `(SELECT pg_catalog.max(id) FROM ${table} WHERE ${NAMEABLE})`;
