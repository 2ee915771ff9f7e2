/**
 * SQL over pg_locks: of this database alone. Test databases are clones of one template, so a table
 * has the same OID in each, and others have advisory locks of the same numbers.
 */
export const OF_THIS_DATABASE = `database = (
  SELECT oid FROM pg_database WHERE datname = current_database())`;
