import type { QueryResult } from 'pg';
import { DelayConfigError } from '../api/errors.js';

/** Runs one statement and answers its rows: a transaction, or a pool. */
export interface Runner {
  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]>;
  /**
   * The same, with COMMIT behind it in one round trip: for the last statement of a transaction, if that fails
   * unless it does all that it shall. There only where the runner may end its transaction.
   */
  queryLast?<Row>(sql: string, parameters: unknown[]): Promise<Row[]>;
  /**
   * Whose transaction it is, where one goes on: what is locked stays so to its end. Nothing may be set in
   * the caller's. Undefined where each statement is a transaction of its own.
   */
  readonly transaction?: 'callers' | 'ours';
}

/** Runs several statements in a transaction of their own. */
export interface Transactor {
  inTransaction<Result>(work: (runner: Runner) => Promise<Result>): Promise<Result>;
}

/** What a statement answered, and START TRANSACTION or COMMIT, which shared its round trip. */
export interface SharedTrip<Row> {
  rows: Row[];
  other: QueryResult;
}

/** One session, on which a transaction can begin or end with a statement, in one round trip where it can. */
export interface SessionRunner extends Runner {
  /** @param first has no parameters: START TRANSACTION */
  queryBehind<Row>(first: string, sql: string, parameters: unknown[]): Promise<SharedTrip<Row>>;
  /**
   * @param last has no parameters, and is not run when the statement fails: COMMIT
   * @param sending is called when `last` is about to be sent, and stops it by an error
   */
  queryBefore<Row>(
    last: string,
    sql: string,
    parameters: unknown[],
    sending: () => void,
  ): Promise<SharedTrip<Row>>;
}

/** The one row of a statement that always answers one. */
export function given<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new DelayConfigError('a statement of the engine gave no answer');
  return row;
}
