import { functionOf, plusMs, type Tables, wholeEpochMs } from '../../database/tables.js';
import { EXTRA_COLUMNS, EXTRA_NAMES, EXTRAS, logged } from '../rows/columns.js';

/** Cancels one delay. A later version needs another name: nodes of this version still call it. */
const CANCEL_ONE = 'cancel_one';

const cancelOneSignature = (tables: Tables): string =>
  `${functionOf(tables, CANCEL_ONE)}(text, text, text)`;

/** As `cancelWaitingSql`, for one delay in a caller's transaction: see `createScheduleOne`. */
const createCancelOne = (tables: Tables): string => `
CREATE OR REPLACE FUNCTION ${functionOf(tables, CANCEL_ONE)}(
  _name text, _key text, _history text, OUT id text, OUT due_ms text
) RETURNS SETOF record LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $function$
DECLARE
  _gone ${tables.delay};
BEGIN
  DELETE FROM ${tables.delay} d
  WHERE d.id = (SELECT f.id FROM ${tables.delay} f
                WHERE f.name = _name AND f.key = _key AND f.leased_by IS NULL
                  AND NOT EXISTS (SELECT FROM ${tables.rerun} r WHERE r.name = _name AND r.key = _key)
                FOR UPDATE SKIP LOCKED)
  RETURNING d.* INTO _gone;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF _history <> 'nothing' THEN
    INSERT INTO ${tables.history} (id, ended_at, due_at, created_at, epoch, attempts, state, name, key, error,
      ${logged('attempts').join(', ')})
    VALUES (_gone.id, ${tables.now}, _gone.due_at, _gone.created_at, _gone.epoch, _gone.attempts,
            CASE WHEN _gone.wake_at = 'infinity' THEN 'discarded' ELSE 'cancelled' END, _gone.name, _gone.key,
            _gone.last_error, ${logged('ends')
              .map((column) => `_gone.${column}`)
              .join(', ')},
            CASE WHEN _history = 'attempts' THEN _gone.attempt_log END);
  END IF;
  id := _gone.id::text;
  due_ms := ${wholeEpochMs('_gone.due_at')}::text;
  RETURN NEXT;
END $function$`;

/**
 * Removes and answers the delay of (name, key) if it waits and no session holds it. Parameters:
 * name, key, what history keeps.
 */
export const cancelOneSql = (tables: Tables): string =>
  `SELECT id, due_ms FROM ${functionOf(tables, CANCEL_ONE)}($1::text, $2::text, $3::text)`;

/** Schedules one delay. A later version needs another name: nodes of this version still call it. */
const SCHEDULE_ONE = 'schedule_one';

const scheduleOneSignature = (tables: Tables): string =>
  `${functionOf(tables, SCHEDULE_ONE)}(text, text, text, float8, timestamptz, int, ${EXTRA_NAMES.map((extra) => EXTRAS[extra].type).join(', ')})`;

/**
 * As `scheduleNewSql`, for one delay that does not recur, in a caller's transaction. A statement of
 * one row costs mostly its planning, and it cannot be prepared there: behind a pooler the next
 * transaction has another session. A function is planned once per server session (docs/adr/0040).
 *
 * An empty table looks as fast as an index, and that plan may be kept: so sequential scans are off.
 */
const createScheduleOne = (tables: Tables): string => `
CREATE OR REPLACE FUNCTION ${functionOf(tables, SCHEDULE_ONE)}(
  _name text, _key text, _payload text, _after_ms float8, _at timestamptz, _max_attempts int,
  ${EXTRA_NAMES.map((extra) => `_${EXTRAS[extra].column} ${EXTRAS[extra].type}`).join(', ')}, OUT id text, OUT due_ms text, OUT now_us text
) RETURNS SETOF record LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $function$
DECLARE
  _now timestamptz := ${tables.now};
  _whole timestamptz := date_trunc('milliseconds', _now + interval '999 microseconds');
  _due timestamptz := COALESCE(_at, _whole + _after_ms * interval '1 millisecond');
BEGIN
  IF _key IS NOT NULL AND EXISTS (SELECT FROM ${tables.delay} t WHERE t.name = _name AND t.key = _key) THEN
    RETURN;
  END IF;
  RETURN QUERY
  INSERT INTO ${tables.delay} AS d (name, key, payload, due_at, wake_at, created_at, max_attempts, ${EXTRA_COLUMNS.join(', ')})
  VALUES (_name, _key, _payload::jsonb, _due, GREATEST(_due, _whole), _now, _max_attempts, ${EXTRA_COLUMNS.map((column) => `_${column}`).join(', ')})
  ON CONFLICT (name, key) WHERE key IS NOT NULL DO NOTHING
  RETURNING d.id::text, (date_part('epoch', d.due_at) * 1e3::float8)::bigint::text,
            (date_part('epoch', _now) * 1e6::float8)::bigint::text;
END $function$`;

/**
 * Inserts a delay; a key that is taken answers no row. Parameters: name, key, payload, after_ms,
 * at, max_attempts, the extras. All but name and payload may be null; one of after_ms and at is.
 */
export const scheduleOneSql = (tables: Tables): string =>
  `SELECT id, due_ms, now_us FROM ${functionOf(tables, SCHEDULE_ONE)}(
  $1::text, $2::text, $3::text, $4::float8, $5::timestamptz, $6::int, ${EXTRA_NAMES.map((extra, n) => `$${7 + n}::${EXTRAS[extra].type}`).join(', ')})`;

/** The functions of one installation, with their arguments. */
export const functionsOf = (tables: Tables): string[] => [
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
 * `clock_timestamp()`. It runs ahead of the database's clock by some time, or stands at an instant.
 * The first node under test creates it in a schema (docs/adr/0030).
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
  `DROP FUNCTION IF EXISTS ${[tables.now, ...functionsOf(tables)].join(', ')}`,
  `DROP TABLE IF EXISTS ${tables.testingClock}`,
];
