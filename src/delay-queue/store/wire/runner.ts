import { DelayConfigError } from '../../delay/delay.errors.js';

/** Runs one statement and answers its rows: a transaction, or a pool. */
export interface Runner {
  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]>;
  /**
   * Whose transaction it is, where one goes on: what is locked stays so to its end. Nothing may be set in
   * the caller's. Undefined where each statement is a transaction of its own.
   */
  readonly transaction?: 'callers' | 'ours';
}

/** The one row of a statement that always answers one. */
export function given<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new DelayConfigError('a statement of the engine gave no answer');
  return row;
}
