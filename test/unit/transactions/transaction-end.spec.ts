import { expect, it } from '@jest/globals';
import { transactionEndIn } from '../../../src/delay-queue/core/transactions/transaction-end.js';

it.each([
  ['  \n\tCommit;', 'COMMIT'],
  ["COMMIT PREPARED 'x'", 'COMMIT'],
  ['END', 'END'],
  ['ROLLBACK AND CHAIN', 'ROLLBACK'],
  ["PREPARE TRANSACTION 'x'", 'PREPARE TRANSACTION'],
  ['SELECT 1; COMMIT; BEGIN', 'COMMIT'],
  ['/* why */ COMMIT -- now', 'COMMIT'],
  ['-- ;\nROLLBACK', 'ROLLBACK'],
  ["SELECT 'a;b', 'it''s'; ROLLBACK", 'ROLLBACK'],
  ["SELECT E'\\'; COMMIT; --'; ROLLBACK", 'ROLLBACK'],
  ['SELECT $x$ it is $y$ here $x$; ABORT', 'ABORT'],
  // Comments nest, so that the quote is inside of one.
  ["SELECT 1 /* a /* b */ ' */; COMMIT; -- '", 'COMMIT'],
  // `a$$` is a name, and no dollar quote begins in it.
  ['SELECT 1 AS a$$; COMMIT; SELECT 1 AS a$$', 'COMMIT'],
  ['SELECT 1 AS é$$; COMMIT; SELECT 1 AS é$$', 'COMMIT'],
  ['-- a comment ends at a carriage return\rCOMMIT', 'COMMIT'],
  // Where `standard_conforming_strings` is off, the first text ends behind the comma.
  ["SELECT '\\' , '; ROLLBACK; --'", 'ROLLBACK'],
  ['rollback /* to */ work and /* to a */ chain', 'ROLLBACK'],
  [
    'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; END',
    'END',
  ],
  ['SELECT 2 - 1, 4 / 2 FROM e; COMMIT', 'COMMIT'],
  ['SELECT 1 AS "\\"; COMMIT; --"', 'COMMIT'],
  ["CREATE FUNCTION begin() RETURNS int LANGUAGE sql AS 'SELECT 1'; COMMIT", 'COMMIT'],
])('%j ends its transaction: %s', (sql, command) => {
  expect(transactionEndIn(sql)).toBe(command);
});

it.each([
  'RELEASE SAVEPOINT a',
  'ROLLBACK WORK TO SAVEPOINT a',
  'rollback transaction to a',
  'SELECT CASE WHEN true THEN 1 END',
  'UPDATE t SET "end" = 1; SELECT commit FROM t',
  "INSERT INTO t VALUES ('x; COMMIT; y')",
  "SELECT E'\\'; COMMIT; --'",
  'DO $do$ BEGIN; COMMIT; END $do$',
  'SELECT $$ ; COMMIT; $$',
  'SELECT ";commit;" FROM t -- ; COMMIT',
  'SELECT 1 /* ; ROLLBACK; */',
  'PREPARE q AS SELECT 1',
  'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END',
  'CREATE OR REPLACE PROCEDURE f() BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END',
  'SELECT 1 /* a /* ; COMMIT; */ ; COMMIT; */',
  'ROLLBACK /* AND CHAIN */ TO a',
  "SELECT U&'\\0041', $1 -- commit",
  // Without an end: the server refuses all of it.
  'SELECT 1 /* a /* b */ ; COMMIT',
  'ENDING',
])('%j does not end its transaction', (sql) => {
  expect(transactionEndIn(sql)).toBeUndefined();
});
