import type { QueryResult } from 'pg';
import { DelayConfigError } from '../api/errors.js';

/** Runs one statement and returns its rows: a transaction, or a pool. */
export interface Runner {
  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]>;
  /**
   * The same with COMMIT behind it, in one round trip: for a transaction's last statement, which
   * must fail unless it does all that it should. Only where the runner may end its transaction.
   */
  queryLast?<Row>(sql: string, parameters: unknown[]): Promise<Row[]>;
  /**
   * Whose open transaction it is; locks last until its end, and nothing may be set in a caller's.
   * Undefined where each statement is its own transaction.
   */
  readonly transaction?: 'callers' | 'ours';
}

/** What runs a statement, also TypeORM's query runner or a client of `pg`. */
export interface Queries {
  query(sql: string, parameters: unknown[]): Promise<unknown>;
}

/** Runs several statements in a transaction of their own. */
export interface Transactor {
  inTransaction<Result>(work: (runner: Runner) => Promise<Result>): Promise<Result>;
}

/** The answer of a statement, and of the COMMIT that shared its round trip. */
export interface SharedTrip<Row> {
  rows: Row[];
  other: QueryResult;
}

/** A session on which a transaction ends together with a statement, if possible. */
export interface SessionRunner extends Runner {
  /**
   * @param last has no parameters, and does not run if the statement fails: COMMIT
   * @param sending called when `last` is about to be sent; an error in it prevents that
   */
  queryBefore<Row>(
    last: string,
    sql: string,
    parameters: unknown[],
    sending: () => void,
  ): Promise<SharedTrip<Row>>;
}

/** The row of a statement that always returns one. */
export function given<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new DelayConfigError('a statement of the engine gave no answer');
  return row;
}
