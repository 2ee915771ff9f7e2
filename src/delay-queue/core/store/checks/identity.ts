import { IDS_USED_UP, mostIdSql, NAMEABLE, raiseIdsSql } from '../../database/driver-errors.js';
import type { Runner } from '../../database/runner.js';
import { ON_PRIMARY, qualifiedTables } from '../../database/tables.js';
import { type Finding, notice, ok, problem } from './finding.js';

/**
 * Logical replication copies rows but not sequences: the ids begin again on the new server. Each
 * `schedule` would meet a taken id, and an id in history would stand for two delays. History has no
 * index on its ids: only its latest rows are read.
 */
export async function judgeIds(runner: Runner, schema: string): Promise<Finding> {
  const { delay, history, permit, schema: quoted } = qualifiedTables(schema);
  const [found] = await runner.query<{
    readable: string | null;
    last: string | null;
    most: string | null;
  }>(
    `${ON_PRIMARY}
     SELECT pg_catalog.has_sequence_privilege(s.name, 'USAGE, SELECT')::text AS readable, q.last_value::text AS last,
            GREATEST(${mostIdSql(delay)}, ${mostIdSql(permit)},
                     (SELECT pg_catalog.max(id) FROM (SELECT id FROM ${history} ORDER BY ended_at DESC LIMIT 1000) late WHERE ${NAMEABLE})
            )::text AS most
     FROM (SELECT pg_catalog.pg_get_serial_sequence($1::text, 'id') AS name) s
     LEFT JOIN pg_catalog.pg_sequences q ON pg_catalog.format('%I.%I', q.schemaname, q.sequencename) = s.name`,
    [delay],
  );
  const { readable, last, most } = found ?? {};
  const broken = (text: string, before = ''): Finding =>
    problem('identity', text, {
      means: 'schedule would get no id, or one that is taken, and fail: no node starts.',
      todo: 'Set the ids as the owner of the tables.',
      sql: before + raiseIdsSql(schema),
    });
  if (!readable) {
    return broken(
      `the column id of ${delay} is no longer an identity column, as after a copy by a tool that does not know them`,
      `ALTER TABLE ${delay} ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY; `,
    );
  }
  if (readable !== 'true') {
    return notice('identity', `this role may not read the sequence of ${delay}`, {
      means: 'It cannot check whether ids begin again, as after logical replication.',
      todo: 'Grant it as the owner of the tables.',
      sql: `GRANT SELECT ON ALL SEQUENCES IN SCHEMA ${quoted}`,
    });
  }
  if (Number(last) > IDS_USED_UP) {
    return broken(`the ids of ${delay} are used up, since its sequence was moved to ${last}`);
  }
  if (Number(most) <= Number(last)) return ok('identity', 'the next id is behind all ids');
  return broken(
    `the next id of ${delay} is ${Number(last) + 1}, and there are ids up to ${most}: they begin again, as after ` +
      'logical replication',
  );
}
