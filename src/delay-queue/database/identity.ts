import { DelayConfigError } from '../delay/delay.errors.js';
import { tablesOf } from '../store/tables/schema.js';
import type { Runner } from '../store/wire/runner.js';

/**
 * Logical replication copies rows and no sequences: the ids begin again on the new server, and each `schedule` would meet
 * one that is taken, and roll its caller's transaction back. A role that may not read the sequence cannot tell. An id that
 * JavaScript cannot name was given by hand, and is set aside.
 *
 * @throws DelayConfigError with the statement that mends it
 */
export async function refuseOldIdentity(runner: Runner, schema: string): Promise<void> {
  const { delay } = tablesOf(schema);
  const [found] = await runner.query<{
    sequence: string;
    last: string | null;
    most: string | null;
  }>(
    `SELECT s.name AS sequence, q.last_value::text AS last, (SELECT max(id) FROM ${delay} WHERE id <= ${Number.MAX_SAFE_INTEGER})::text AS most
     FROM (SELECT pg_get_serial_sequence($1::text, 'id') AS name) s
     JOIN pg_sequences q ON format('%I.%I', q.schemaname, q.sequencename) = s.name
     WHERE has_sequence_privilege(s.name, 'SELECT')`,
    [delay],
  );
  if (found === undefined || Number(found.most) <= Number(found.last)) return;
  throw new DelayConfigError(
    `the ids of ${delay} begin again at ${Number(found.last) + 1}, and there are rows up to ${found.most}, as after logical ` +
      `replication: SELECT setval('${found.sequence}', (SELECT max(id) FROM ${delay})) as the owner of the tables`,
  );
}
