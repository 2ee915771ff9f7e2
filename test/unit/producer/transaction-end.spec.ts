import { describe, expect, it } from '@jest/globals';
import { transactionEndIn } from '../../../src/delay-queue/producer/transaction/transaction-end.js';

describe('an SQL text that ends its transaction', () => {
  it.each([
    ['COMMIT', 'COMMIT'],
    ['  \n\tCommit;', 'COMMIT'],
    ['COMMIT AND CHAIN', 'COMMIT'],
    ["COMMIT PREPARED 'x'", 'COMMIT'],
    ['END', 'END'],
    ['ROLLBACK', 'ROLLBACK'],
    ['ROLLBACK AND CHAIN', 'ROLLBACK'],
    ["PREPARE TRANSACTION 'x'", 'PREPARE TRANSACTION'],
    ['SELECT 1; COMMIT; BEGIN', 'COMMIT'],
    ['/* why */ COMMIT -- now', 'COMMIT'],
    ['-- ;\nROLLBACK', 'ROLLBACK'],
    ["SELECT 'a;b', 'it''s'; ROLLBACK", 'ROLLBACK'],
    ["SELECT E'\\'; COMMIT; --'; ROLLBACK", 'ROLLBACK'],
    ['SELECT $x$ it is $y$ here $x$; ABORT', 'ABORT'],
  ])('%j: %s', (sql, command) => {
    expect(transactionEndIn(sql)).toBe(command);
  });

  it.each([
    'SELECT 1',
    'RELEASE SAVEPOINT a',
    'ROLLBACK TO SAVEPOINT a',
    'ROLLBACK WORK TO SAVEPOINT a',
    'rollback transaction to a',
    'SELECT CASE WHEN true THEN 1 END',
    'UPDATE t SET "end" = 1; SELECT commit FROM t',
    "INSERT INTO t VALUES ('x; COMMIT; y')",
    "SELECT E'\\'; COMMIT; --'",
    'SELECT $$ ; COMMIT; $$',
    'DO $do$ BEGIN PERFORM 1; END $do$',
    'SELECT ";commit;" FROM t -- ; COMMIT',
    'SELECT 1 /* ; ROLLBACK; */',
    'PREPARE q AS SELECT 1',
    'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END',
    'ENDING',
  ])('%j is none', (sql) => {
    expect(transactionEndIn(sql)).toBeUndefined();
  });
});
