import { functionName, plusMs, type Tables, wholeEpochMs } from '../../database/tables.js';
import { EXTRA_COLUMNS, EXTRA_NAMES, EXTRAS, historyExtras } from '../rows/columns.js';

/** Cancels one delay. A later version needs another name: nodes of this version still call it. */
const CANCEL_ONE = 'cancel_one';

const cancelOneSignature = (tables: Tables): string =>
  `${functionName(tables, CANCEL_ONE)}(text, text, text)`;

/**
 * Deletes the row that waits and that no session holds. `RETURNING` all columns, for history, costs
 * a call that keeps none a tenth.
 */
const deleteWaiting = ({ delay, rerun }: Tables): string => `DELETE FROM ${delay} d
    WHERE d.id = (SELECT f.id FROM ${delay} f
                  WHERE f.name = _name AND f.key = _key AND f.leased_by IS NULL
                    AND NOT EXISTS (SELECT FROM ${rerun} r WHERE r.name = _name AND r.key = _key)
                  FOR UPDATE SKIP LOCKED)`;

/**
 * As `cancelWaitingSql`, for one delay in a caller's transaction: see `createScheduleOne`. It
 * answers from the deleted row: a trigger may drop or change a line of history.
 */
const createCancelOne = (tables: Tables): string => `
CREATE OR REPLACE FUNCTION ${functionName(tables, CANCEL_ONE)}(
  _name text, _key text, _history text
) RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $function$
DECLARE
  _id bigint;
  _due timestamptz;
BEGIN
  IF _history = 'nothing' THEN
    ${deleteWaiting(tables)}
    RETURNING d.id, d.due_at INTO _id, _due;
  ELSE
    WITH gone AS (
    ${deleteWaiting(tables)}
    RETURNING d.*
    ), ended AS (
      INSERT INTO ${tables.history} (id, ended_at, due_at, created_at, epoch, attempts, state, name, key, error,
        ${historyExtras('attempts').join(', ')})
      SELECT g.id, ${tables.now}, g.due_at, g.created_at, g.epoch, g.attempts,
             CASE WHEN g.wake_at = 'infinity' THEN 'discarded' ELSE 'cancelled' END, g.name, g.key, g.last_error,
             ${historyExtras('ends')
               .map((column) => `g.${column}`)
               .join(', ')}, CASE WHEN _history = 'attempts' THEN g.attempt_log END
      FROM gone g
    )
    SELECT g.id, g.due_at INTO _id, _due FROM gone g;
  END IF;
  RETURN _id::text || ' ' || ${wholeEpochMs('_due')}::text;
END $function$`;

/**
 * Removes and answers the delay of (name, key) if it waits and no session holds it; otherwise NULL.
 * Parameters: name, key, what history keeps.
 */
export const cancelOneSql = (tables: Tables): string =>
  `SELECT ${cancelOneCall(tables, ['$1::text', '$2::text', '$3::text'])} AS answer WHERE $1::text IS NOT NULL`;

export const cancelOneCall = (tables: Tables, args: readonly string[]): string =>
  `${functionName(tables, CANCEL_ONE)}(${args.join(', ')})`;

/** Schedules one delay. A later version needs another name: nodes of this version still call it. */
const SCHEDULE_ONE = 'schedule_one';

const SCHEDULE_ONE_TYPES = [
  'text',
  'text',
  'text',
  'float8',
  'timestamptz',
  'int',
  ...EXTRA_NAMES.map((extra) => EXTRAS[extra].type),
];

const scheduleOneSignature = (tables: Tables): string =>
  `${functionName(tables, SCHEDULE_ONE)}(${SCHEDULE_ONE_TYPES.join(', ')})`;

/**
 * As `scheduleNewSql`, for one delay that does not recur, in a caller's transaction. A statement of
 * one row costs mostly its planning, and cannot be prepared there: behind a pooler the next
 * transaction has another session. A function is planned once per server session (docs/adr/0017).
 *
 * An empty table looks as fast as an index, and that plan may be kept: so sequential scans are off.
 */
const createScheduleOne = (tables: Tables): string => `
CREATE OR REPLACE FUNCTION ${functionName(tables, SCHEDULE_ONE)}(
  _name text, _key text, _payload text, _after_ms float8, _at timestamptz, _max_attempts int,
  ${EXTRA_NAMES.map((extra) => `_${EXTRAS[extra].column} ${EXTRAS[extra].type}`).join(', ')}
) RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $function$
DECLARE
  _now timestamptz := ${tables.now};
  _whole timestamptz := date_trunc('milliseconds', _now + interval '999 microseconds');
  _due timestamptz := COALESCE(_at, _whole + _after_ms * interval '1 millisecond');
  _id bigint;
BEGIN
  INSERT INTO ${tables.delay} AS d (name, key, payload, due_at, wake_at, created_at, max_attempts, ${EXTRA_COLUMNS.join(', ')})
  SELECT _name, _key, _payload::jsonb, _due, GREATEST(_due, _whole), _now, _max_attempts, ${EXTRA_COLUMNS.map((column) => `_${column}`).join(', ')}
  WHERE NOT EXISTS (SELECT FROM ${tables.delay} t WHERE t.name = _name AND t.key = _key)
  ON CONFLICT (name, key) WHERE key IS NOT NULL DO NOTHING
  RETURNING d.id, d.due_at INTO _id, _due;
  RETURN _id::text || ' ' || (date_part('epoch', _due) * 1e3::float8)::bigint::text
                   || ' ' || (date_part('epoch', _now) * 1e6::float8)::bigint::text;
END $function$`;

/**
 * Inserts a delay; a key that is taken answers NULL. Parameters: name, key, payload, after_ms, at,
 * max_attempts, the extras. All but name and payload may be null; one of after_ms and at is.
 */
export const scheduleOneSql = (tables: Tables): string =>
  `SELECT ${scheduleOneCall(
    tables,
    SCHEDULE_ONE_TYPES.map((type, n) => `$${n + 1}::${type}`),
  )} AS answer WHERE $1::text IS NOT NULL`;

export const scheduleOneCall = (tables: Tables, args: readonly string[]): string =>
  `${functionName(tables, SCHEDULE_ONE)}(${args.join(', ')})`;

/** The functions of one installation, with their arguments. */
export const functionSignatures = (tables: Tables): string[] => [
  scheduleOneSignature(tables),
  cancelOneSignature(tables),
];

/** Statements that create the functions; each may run again. */
export const createFunctions = (tables: Tables): string[] => [
  createScheduleOne(tables),
  createCancelOne(tables),
];

/*
 * The test clock: a row of the schema, which each statement of a node under test reads instead of
 * `clock_timestamp()`. It runs ahead of the database's clock, or stands (docs/adr/0003).
 */

/** `is_set`: a test set the clock, and it stays; if not, it stands for one `DelayTesting` call. */
const createTable = ({ testingClock }: Tables): string => `
CREATE TABLE IF NOT EXISTS ${testingClock} (
  is_there  boolean PRIMARY KEY DEFAULT true CHECK (is_there),
  is_set    boolean NOT NULL,
  ahead_ms  bigint NOT NULL,
  stands_at timestamptz
)`;

/**
 * Without the row, which a test may have deleted, it is the database's clock. SECURITY DEFINER, so
 * that callers need no right to read the table.
 */
const createNow = ({ now, testingClock }: Tables): string => `
CREATE OR REPLACE FUNCTION ${now} RETURNS timestamptz
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  SELECT COALESCE((SELECT COALESCE(c.stands_at, ${plusMs('pg_catalog.clock_timestamp()', 'c.ahead_ms::float8')}) FROM ${testingClock} c),
                  pg_catalog.clock_timestamp())
$function$`;

/** Held while the clock is created. */
export const TEST_CLOCK_LOCK = 'nestjs-delay-queue testing';

/** Statements that create the clock, in one transaction under that lock; each may run again. */
export const createTestClock = (tables: Tables): string[] => [
  createTable(tables),
  createNow(tables),
  ...createFunctions(tables),
];

/** Statements that remove the clock, if there is one. */
export const dropTestClock = (tables: Tables): string[] => [
  `DROP FUNCTION IF EXISTS ${[tables.now, ...functionSignatures(tables)].join(', ')}`,
  `DROP TABLE IF EXISTS ${tables.testingClock}`,
];
