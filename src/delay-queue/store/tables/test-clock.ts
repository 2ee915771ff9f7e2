import { plusMs, type Tables } from '../../database/tables.js';
import { createFunctions, functionsOf } from './functions.js';

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
