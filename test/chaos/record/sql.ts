import type { QueryResultRow } from 'pg';

/** Runs one statement on the database of the run, past every proxy, and answers its rows. */
export type Sql = <Row extends QueryResultRow>(
  text: string,
  parameters?: unknown[],
) => Promise<Row[]>;
