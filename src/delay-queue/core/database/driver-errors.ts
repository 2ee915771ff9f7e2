import { DelayConfigError, DelayError } from '../api/errors.js';
import { ownNames, qualifiedTables } from './tables.js';

/** In the message of a failed cast: it must not be the text of a number. */
export const CLAIM_LOST = 'delay-queue: lost the claim of delay';

/** The five characters (SQLSTATE) of an error that Postgres itself reported. */
export function readSqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' && SQLSTATE.test(error.code) ? error.code : undefined;
}

/** What an error of Postgres has besides its SQLSTATE. */
interface ErrorFields {
  schema?: string;
  table?: string;
  constraint?: string;
  /** Where in the statement itself, not in a function that it called. */
  position?: string;
  /** The function of the server: the same in all languages, unlike the message. */
  routine?: string;
  severity?: string;
}

/** The server's error in what another library than TypeORM made of it; undefined if there is none. */
export function serverErrorIn(
  error: unknown,
): (ErrorFields & { code: string; message: string }) | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; depth += 1) {
    const its = one as ErrorFields & WrappedError;
    const prismas = its.meta?.driverAdapterError?.cause;
    // Prisma's own code, P2010, looks like an SQLSTATE.
    const code = prismas?.originalCode ?? its.code;
    if (typeof code === 'string' && SQLSTATE.test(code)) {
      const message = prismas?.originalMessage ?? one.message;
      const { schema, table, constraint, position, routine, severity } = its;
      const fields = { schema, table, constraint, position, routine, severity };
      const known = Object.entries(fields).filter(([, value]) => value !== undefined);
      return { ...(Object.fromEntries(known) as ErrorFields), code, message };
    }
    one = its.cause ?? its.original;
  }
  return undefined;
}

/** An error of the server as `pg` throws it, whatever the library made of it. */
export class ServerError extends Error {
  /** @param original what the caller gets */
  constructor(
    readonly original: unknown,
    found: { code: string; message: string },
  ) {
    super(found.message);
    Object.assign(this, found);
  }
}

export function asServerError(error: unknown): unknown {
  const found = serverErrorIn(error);
  return found === undefined ? error : new ServerError(error, found);
}

interface WrappedError {
  code?: unknown;
  cause?: unknown;
  /** Sequelize. */
  original?: unknown;
  /** Prisma. */
  meta?: {
    driverAdapterError?: { cause?: { originalCode?: string; originalMessage?: string } };
  };
}

/**
 * SQLSTATEs about the data, a constraint, a trigger or a right: the same statement would be refused
 * again.
 */
const LASTING = /^(?:09|21|22|23|27|2F|38|39|44|54|P0)|^0A000$|^42501$/;

/**
 * Limits of time, memory and size, and connections that ended: a statement of many rows may have
 * been too large. Without 57P03 and 53300, of a server that accepts no connection.
 */
const TOO_MUCH = /^(?:08|54)|^(?:25P04|53200|53400|55P03|57014|57P01|57P02)$/;

/** Nothing was sent. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH']);

/** Whether the same statement would be refused again: change it, or omit what is refused. */
export function isLasting(error: unknown): boolean {
  const state = readSqlState(error);
  return state !== undefined && LASTING.test(state) && !hasEndedSession(error);
}

/** Whether a smaller statement may succeed. */
export function isTooMuch(error: unknown): boolean {
  const state = readSqlState(error);
  if (state !== undefined) return TOO_MUCH.test(state) || hasEndedSession(error);
  if (error instanceof DelayError) return false;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code !== 'string' || !NOT_CONNECTED.has(code);
}

/** SQLSTATEs that are certainly about the statement, not about its server or connection. */
const TOO_LARGE = /^54|^(?:53200|53400|57014)$/;

/** Whether a smaller statement is worth sending at once. */
export const isTooLarge = (error: unknown): boolean => TOO_LARGE.test(readSqlState(error) ?? '');

export const UNIQUE_VIOLATION = '23505';
const NOT_NULL_VIOLATION = '23502';
export const PERMISSION_DENIED = '42501';
/** `lock_timeout` has run out. */
export const LOCK_NOT_AVAILABLE = '55P03';
/** No such table, column or function. */
const UNDEFINED: ReadonlySet<string> = new Set(['42P01', '42703', '42883']);

const says =
  (state: string) =>
  (error: unknown): boolean =>
    readSqlState(error) === state;

const isInvalidText = says('22P02');

/** A removal failed because its row is gone; plain SQL can only fail a cast for that. */
export const isClaimLost = (error: unknown): boolean =>
  isInvalidText(error) && (error as Error).message.includes(CLAIM_LOST);

/** A statement of the transaction has failed, and no other runs in it any more. */
export const isInFailedTransaction = says('25P02');

/** A prepared statement that the session does not know, or no longer knows. */
export const isStatementGone = says('26000');

/** `default_transaction_read_only`, a replica, or a transaction that began as read-only. */
export const isReadOnly = says('25006');

/** Whether the server canceled the statement, also at a time limit: all calls of the statement get that error. */
export const ranOutOfTime = says('57014');

/**
 * About the session, not its statement: it refuses writes (25006), its server ends it (57P01 to
 * 57P03), or a proxy lost the server behind it (class 08).
 */
const SESSION_UNFIT = /^(?:08...|25006|57P0[1-3])$/;

/** FATAL and PANIC, which a server writes in its own language (`lc_messages`), and a proxy in English. */
const ENDS_SESSION =
  /^(?:FATAL|PANI|PÁNIC|PÂNIC|KATASTROF|ÖLÜMC|KRİT|ВАЖНО|ПАНИКА|ФАТАЛЬНО|ПАНІКА|ფატალური|პანიკა|치명|손상|致命|比致命|灾难性|嚴重)/;

/** Refused before the session began: nothing was sent. */
const NOT_LET_IN = /^(?:28...|3D000|53300)$/;

/**
 * Whether the error has ended an open session: pgpool says FATAL XX000 of a COMMIT that has
 * happened.
 */
const hasEndedSession = (error: unknown): boolean => {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return ENDS_SESSION.test(String(severity)) && !NOT_LET_IN.test(String(code));
};

/** Whether another session may succeed, by what the server said on this one. */
export const isUnfitSession = (told: { code?: string; severity?: string }): boolean =>
  SESSION_UNFIT.test(String(told.code)) || hasEndedSession(told);

const SQLSTATE = /^[0-9A-Z]{5}$/;

/** Connection and operator classes of SQLSTATE: the statement may have been committed. */
const OUTCOME_UNKNOWN = /^(?:08|25P04|57P)/;

/** Whether Postgres itself refused, and so nothing was written; unlike when a connection ended. */
export function isRefusedByServer(error: unknown): boolean {
  const state = readSqlState(error);
  return state !== undefined && !OUTCOME_UNKNOWN.test(state) && !hasEndedSession(error);
}

/** Whether the statement met a lock that it does not wait for, or a faster statement. */
export function lockedOrTaken(error: unknown): boolean {
  const state = readSqlState(error);
  return state === LOCK_NOT_AVAILABLE || state === UNIQUE_VIOLATION;
}

/**
 * Whether `pg` gave up waiting: the server is busy, its COMMIT hangs, or the connection died
 * silently. What closed a connection has closed the others too.
 */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof Error && error.message === 'Query read timeout';

/** ORMs keep a failed query's parameters; Postgres quotes rows, values, inner statements. */
const DATA_FIELDS = ['parameters', 'params', 'values', 'detail', 'where', 'internalQuery'];

/** Where an ORM's error holds the driver's, whose fields it may have copied. */
const DRIVER_ERRORS = ['driverError', 'cause', 'original', 'parent'];

/**
 * Removes data from a database error: applications log all of its properties, and a payload's data
 * may not belong in a log. Class, message, code and stack stay; the server's log has the rest.
 */
export function dropData(error: unknown): void {
  if (!(error instanceof Error)) return;
  for (const field of DATA_FIELDS) Reflect.deleteProperty(error, field);
  for (const field of DRIVER_ERRORS) {
    const inner: unknown = Reflect.get(error, field);
    if (inner !== error) dropData(inner);
  }
}

/**
 * Explains errors of our statements where the database is not as the start requires, with a code
 * and the remedy. Others stay as they are, also those of users' triggers and constraints.
 */
export function explainError(error: unknown, schema: string): unknown {
  const state = readSqlState(error);
  if (state === undefined) return error;
  const { message } = error as Error;
  const told = error as ErrorFields;
  const ours = ownNames(schema);
  const isOurs = message.match(/\w+/g)?.some((word) => ours.has(word)) ?? false;
  const isOurTable = told.schema === schema && told.table === 'delay';
  if (state === UNIQUE_VIOLATION && isOurTable && told.constraint === 'delay_pkey') {
    return new DelayConfigError(`${message}. ${idsBeginAgain(schema)}`, { cause: error });
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

/** An error of the start; where the role lacks a right, it lists the rights that the role needs. */
export function startError(error: unknown, schema: string): unknown {
  const state = readSqlState(error);
  if (state === PERMISSION_DENIED) return lacksRights(error as Error, schema);
  if (state !== '08P01' || !/statement pooling/.test((error as Error).message)) {
    return explainError(error, schema);
  }
  return new DelayConfigError(
    'PgBouncer is in statement mode, where no transaction can run: set pool_mode = transaction, or connect directly',
    { cause: error },
  );
}

export const migrateCommand = (schema: string): string =>
  `npx nestjs-delay-queue migrate${schema === 'delay_queue' ? '' : ` --schema ${schema}`}`;

export const toMigrate = (schema: string): string =>
  `run ${migrateCommand(schema)}, add ...delayQueueMigrations(` +
  `${schema === 'delay_queue' ? '' : `{ schema: '${schema}' }`}) to the ` +
  "DataSource's migrations and run them, or set the option schema";

function lacksRights(error: Error, schema: string): DelayConfigError {
  const { schema: quoted } = qualifiedTables(schema);
  return new DelayConfigError(
    `${error.message}. The role of the application needs GRANT USAGE ON SCHEMA ${quoted}, ` +
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted} and, where PUBLIC may not, ` +
      `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${quoted}`,
    { cause: error },
  );
}

/** What has happened where ids are already taken, and the remedy. */
const idsBeginAgain = (schema: string): string =>
  `The ids of ${qualifiedTables(schema).delay} begin again, as after logical replication: ${raiseIdsSql(schema)} ` +
  'as the owner of the tables';

/** The largest id that a row may have, less so many that no queue uses them up. */
export const IDS_USED_UP = Number.MAX_SAFE_INTEGER - 1e12;

/**
 * Lowers ids only if they are used up. For use by hand: the exact types make its functions those of
 * Postgres.
 */
export function raiseIdsSql(schema: string): string {
  const { delay, history, permit } = qualifiedTables(schema);
  const sequence = `pg_get_serial_sequence('${delay}'::text, 'id'::text)::regclass`;
  const taken = [delay, history, permit].map(mostIdSql);
  const last = `pg_sequence_last_value(${sequence})`;
  const kept = `CASE WHEN ${last} < ${IDS_USED_UP}::bigint THEN ${last} END`;
  return `SELECT setval(${sequence}, GREATEST(1::bigint, ${kept}, ${taken.join(', ')}))`;
}

/** The largest id of a table. Ids too large for JavaScript were set by hand, and do not count. */
export const mostIdSql = (table: string): string =>
  `(SELECT pg_catalog.max(id) FROM ${table} WHERE ${NAMEABLE})`;

export const NAMEABLE = `id <= ${Number.MAX_SAFE_INTEGER}`;
