import type { OwnServer } from './own-server.js';

const NAME = 'impolite';
const PASSWORD = 'impolite';

/** What nodes of such a run connect as, in place of the tests' own role. */
export const NODE_ROLE = `${NAME}:${PASSWORD}`;

/** All of it is allowed to any role, and to any administrator; each once broke something. */
const SETTINGS: Readonly<Record<string, string>> = {
  array_nulls: 'off',
  bytea_output: 'escape',
  // `SQL, DMY` nobody can live with who lets pg make a Date, as tests do; foreign-settings.spec.ts has it.
  DateStyle: 'ISO, DMY',
  extra_float_digits: '-3',
  idle_in_transaction_session_timeout: '20s',
  idle_session_timeout: '20s',
  IntervalStyle: 'sql_standard',
  jit: 'on',
  jit_above_cost: '0',
  lock_timeout: '5s',
  max_parallel_workers_per_gather: '4',
  plan_cache_mode: 'force_custom_plan',
  statement_timeout: '8s',
  TimeZone: 'Asia/Kathmandu',
  transform_null_equals: 'on',
};

/** A role that may do everything, with settings of the worst kind. */
export async function grantHostile(server: OwnServer): Promise<void> {
  await server.sql(`CREATE ROLE ${NAME} LOGIN SUPERUSER PASSWORD '${PASSWORD}'`);
  for (const [name, value] of Object.entries(SETTINGS)) {
    await server.sql(`ALTER ROLE ${NAME} SET ${name} = '${value}'`);
  }
}
