import { type Mutant, patch } from './mutant.js';

const PLANTED = ['security/planted-names'];
const MIGRATIONS = 'store/tables/migrations.ts';

/** What a role that may create something can have others run: each with its mend taken out. */
export const NAMES_AND_OWNERS: Readonly<Record<string, Mutant>> = {
  'finds-unnest-by-the-path': {
    about: 'calls an unnest of the path where one array is given',
    patches: [patch('store/sql/parts/targets.ts', 'pg_catalog.unnest($${index', 'unnest($${index')],
    tests: PLANTED,
  },
  'finds-a-count-by-the-path': {
    about: 'counts pruned rows by a count of the path',
    patches: [
      patch('store/sql/parts/delete-oldest.ts', 'SELECT pg_catalog.count(*)', 'SELECT count(*)'),
    ],
    tests: PLANTED,
  },
  'multiplies-by-a-numeric': {
    about: 'multiplies a float8 by a numeric',
    patches: [patch('store/tables/schema.ts', "* 1e3::float8`, '8.64e15'", "* 1e3`, '8.64e15'")],
    tests: PLANTED,
  },
  'takes-a-field-by-an-untyped-name': {
    about: 'takes a field of JSON by a name that may be JSON itself',
    patches: [patch('store/sql/parts/repeat.ts', "-> 'declared'::text", "-> 'declared'")],
    tests: PLANTED,
  },
  'notifies-by-the-path': {
    about: 'notifies by a pg_notify of the path',
    patches: [patch('cluster/notifier.ts', 'SELECT pg_catalog.pg_notify', 'SELECT pg_notify')],
    tests: PLANTED,
  },
  'schedules-on-the-callers-path': {
    about: 'schedules one delay by a function that goes by the path of its caller',
    patches: [
      patch(
        'store/tables/schedule-one.function.ts',
        'SET search_path = pg_catalog, pg_temp SET enable_seqscan',
        'SET enable_seqscan',
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
    about: 'has the migrations behind its own go by its path',
    patches: [patch(MIGRATIONS, "await setPath(runner, found?.path ?? '');", '')],
    tests: PLANTED,
  },
  'keeps-the-path-of-a-role': {
    about: 'keeps the path of a role on its own sessions',
    patches: [patch('database/session-settings.ts', "  search_path: 'pg_catalog, pg_temp',\n", '')],
    tests: ['integration/engine/session-settings'],
  },
};
