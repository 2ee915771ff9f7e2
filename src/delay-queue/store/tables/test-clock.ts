import { plusMs, type Tables } from '../../database/tables.js';
import { createFunctions, functionsOf } from './functions.js';

/*
 * The clock of tests: a row of the schema, which each statement of a node under test reads where others read
 * `clock_timestamp()`. It goes on by itself, so far ahead of the database's, or stands at an instant. A schema has it from
 * its first node under test on (docs/adr/0030).
 */

/** `is_set`: a test has said where it stands, and there it stays; else it does so for one call of `DelayTesting`. */
const createTable = ({ testingClock }: Tables): string => `
CREATE TABLE IF NOT EXISTS ${testingClock} (
  is_there  boolean PRIMARY KEY DEFAULT true CHECK (is_there),
  is_set    boolean NOT NULL,
  ahead_ms  bigint NOT NULL,
  stands_at timestamptz
)`;

/** Without the row, which a test may have emptied the schema of, it is the database's clock. A role that may call it need not be allowed to read the table. */
const createNow = ({ now, testingClock }: Tables): string => `
CREATE OR REPLACE FUNCTION ${now} RETURNS timestamptz
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  SELECT COALESCE((SELECT COALESCE(c.stands_at, ${plusMs('pg_catalog.clock_timestamp()', 'c.ahead_ms::float8')}) FROM ${testingClock} c),
                  pg_catalog.clock_timestamp())
$function$`;

/** Held while it is made. */
export const TEST_CLOCK_LOCK = 'nestjs-delay-queue testing';

/** Statements that make it, in one transaction and under that lock; each may run again. */
export const createTestClock = (tables: Tables): string[] => [
  createTable(tables),
  createNow(tables),
  ...createFunctions(tables),
];

/** Statements that remove it where it is. */
export const dropTestClock = (tables: Tables): string[] => [
  `DROP FUNCTION IF EXISTS ${[tables.now, ...functionsOf(tables)].join(', ')}`,
  `DROP TABLE IF EXISTS ${tables.testingClock}`,
];
