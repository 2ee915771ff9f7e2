import { expect, it } from '@jest/globals';
import { transactionEndIn } from '../../../src/delay-queue/producer/transaction/transaction-end.js';

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
  'ENDING',
])('%j does not end its transaction', (sql) => {
  expect(transactionEndIn(sql)).toBeUndefined();
});
