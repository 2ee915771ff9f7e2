import { type Mutant, patch } from './mutant.js';

const PLANTED = ['security/planted-names'];
const OWNERS = ['security/foreign-owners'];
const MIGRATIONS = 'core/store/tables/migrations.ts';
const STRANGERS = 'core/store/checks/owners.ts';

/** What a role that may create something can have others run: each with its mend taken out. */
export const NAMES_AND_OWNERS: Readonly<Record<string, Mutant>> = {
  'finds-unnest-by-the-path': {
    about: 'calls an unnest of the path where one array is given',
    patches: [
      patch(
        'core/store/sql/fragments/target-rows.ts',
        'pg_catalog.unnest($${index',
        'unnest($${index',
      ),
    ],
    tests: PLANTED,
  },
  'finds-a-count-by-the-path': {
    about: 'counts pruned rows by a count of the path',
    patches: [
      patch(
        'core/store/sql/nodes.sql.ts',
        'SELECT pg_catalog.count(*)::text AS count FROM deleted',
        'SELECT count(*)::text AS count FROM deleted',
      ),
    ],
    tests: PLANTED,
  },
  'multiplies-by-a-numeric': {
    about: 'multiplies a float8 by a numeric',
    patches: [patch('core/database/tables.ts', "* 1e3::float8`, '8.64e15'", "* 1e3`, '8.64e15'")],
    tests: PLANTED,
  },
  'takes-a-field-by-an-untyped-name': {
    about: 'takes a field of JSON by a name that may be JSON itself',
    patches: [patch('core/store/sql/fragments/repeat.ts', "-> 'declared'::text", "-> 'declared'")],
    tests: PLANTED,
  },
  'notifies-by-the-path': {
    about: 'notifies by a pg_notify of the path',
    patches: [patch('core/cluster/hint.ts', 'SELECT pg_catalog.pg_notify', 'SELECT pg_notify')],
    tests: PLANTED,
  },
  'schedules-on-the-callers-path': {
    about: 'schedules one delay by a function that goes by the path of its caller',
    patches: [
      patch(
        'core/store/tables/functions.ts',
        `join(', ')}
) RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan`,
        `join(', ')}
) RETURNS text LANGUAGE plpgsql
SET enable_seqscan`,
      ),
    ],
    tests: PLANTED,
  },
  'migrates-on-the-callers-path': {
    about: 'creates its tables on the path that it finds',
    patches: [patch(MIGRATIONS, "await setPath(runner, 'pg_catalog, pg_temp');", '')],
    tests: PLANTED,
  },
  'leaves-its-path-behind': {
    about: 'has the migrations behind its own go by another path than they had',
    patches: [patch(MIGRATIONS, "found?.path ?? ''", "'public'")],
    tests: PLANTED,
  },
  'keeps-the-path-of-a-role': {
    about: 'keeps the path of a role on its own sessions',
    patches: [
      patch('core/database/connection-config.ts', "  search_path: 'pg_catalog, pg_temp',\n", ''),
    ],
    tests: ['integration/engine/session-settings'],
  },
  'migrates-beside-strangers': {
    about: 'creates its tables in whosever schema',
    patches: [patch(MIGRATIONS, 'if (stranger !== undefined) throw refusal(stranger);', '')],
    tests: OWNERS,
  },
  'starts-beside-strangers': {
    about: 'starts on tables that have a stranger beside them',
    patches: [
      patch(
        'core/store/check-start.ts',
        'wrong ?? (await findStranger(runner, schema, false))',
        'wrong',
      ),
    ],
    tests: OWNERS,
  },
  'trusts-whom-a-superuser-could-be': {
    about: 'takes every role for a friend of a superuser',
    patches: [
      patch(STRANGERS, '(me.rolsuper OR NOT pg_catalog.pg_has_role', '(NOT pg_catalog.pg_has_role'),
    ],
    tests: OWNERS,
  },
  'trusts-none-but-itself': {
    about: 'takes a member of the owner for a stranger',
    patches: [patch(STRANGERS, " AND NOT pg_catalog.pg_has_role(o.owner, h.owner, 'MEMBER')", '')],
    tests: OWNERS,
  },
  'overlooks-the-functions-of-triggers': {
    about: 'asks for the owner of no function that a trigger calls',
    patches: [patch(STRANGERS, 'WHERE NOT t.tgisinternal\n', 'WHERE false\n')],
    tests: OWNERS,
  },
};
