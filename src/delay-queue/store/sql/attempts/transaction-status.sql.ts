/**
 * What became of a transaction. Parameter: its number. Answers one row: `committed`, `aborted`, `in progress`, or null
 * when that is forgotten, after millions of others.
 */
export const transactionStatusSql = (): string =>
  'SELECT pg_catalog.pg_xact_status($1::xid8) AS status';
