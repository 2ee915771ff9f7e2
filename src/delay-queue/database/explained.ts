import { DelayConfigError } from '../delay/delay.errors.js';
import {
  NOT_NULL_VIOLATION,
  PERMISSION_DENIED,
  sqlStateOf,
  UNDEFINED,
  UNIQUE_VIOLATION,
} from '../store/sql-state.js';
import { namesOf, tablesOf } from '../store/tables/schema.js';
import { identityMended } from './identity.js';

/** What Postgres tells about an error, beside its class. */
interface Told {
  schema?: string;
  table?: string;
  constraint?: string;
  /** Where in the statement itself, and not in a function that it has called. */
  position?: string;
  /** The function of the server: its name is the same in all languages, and the message is not. */
  routine?: string;
}

/**
 * An error that a statement of ours gets where the database is not, or no longer, as the start has to find it: one with
 * a code, which says what to do. Any other stays as it is, also those of users' triggers and constraints on our tables.
 */
export function explained(error: unknown, schema: string): unknown {
  const state = sqlStateOf(error);
  if (state === undefined) return error;
  const { message } = error as Error;
  const told = error as Told;
  const ours = namesOf(schema);
  const isOurs = message.match(/\w+/g)?.some((word) => ours.has(word)) ?? false;
  const isOurTable = told.schema === schema && told.table === 'delay';
  if (state === UNIQUE_VIOLATION && isOurTable && told.constraint === 'delay_pkey') {
    return new DelayConfigError(`${message}. ${identityMended(schema)}`, { cause: error });
  }
  if (state === PERMISSION_DENIED && isOurs && told.routine === 'aclcheck_error') {
    return lacksRights(error as Error, schema);
  }
  const isMissing =
    UNDEFINED.has(state) && (isOurs || (state === '42703' && told.position !== undefined));
  if (isMissing || (state === NOT_NULL_VIOLATION && isOurTable)) {
    return new DelayConfigError(`${message}: ${toMigrate(schema)}`, { cause: error });
  }
  return error;
}

/** An error of the start: where the role lacks a right, one that says which rights there have to be. */
export const startError = (error: unknown, schema: string): unknown =>
  sqlStateOf(error) === PERMISSION_DENIED
    ? lacksRights(error as Error, schema)
    : explained(error, schema);

export const toMigrate = (schema: string): string =>
  `add ...delayQueueMigrations(${schema === 'delay_queue' ? '' : `{ schema: '${schema}' }`}) to the DataSource's ` +
  'migrations and run them, or set the option schema';

function lacksRights(error: Error, schema: string): DelayConfigError {
  const { schema: quoted } = tablesOf(schema);
  return new DelayConfigError(
    `${error.message}. The role of the application needs GRANT USAGE ON SCHEMA ${quoted}, ` +
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted} and, where not everybody may, ` +
      `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${quoted}`,
    { cause: error },
  );
}
