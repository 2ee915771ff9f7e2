import type { EndState, LiveState, OnConflict } from '../../delay/delay.js';
import type { MoveTo } from '../../validation/when.js';

/*
 * What the stores take and give. Ids and epochs are numbers: 2^53 of them last for any queue. How the statements
 * answer is in `answers.ts` and `placing.ts`.
 */

/** Runs one statement and answers its rows: a transaction, or a pool. */
export interface Runner {
  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]>;
  /**
   * Whose transaction it is, where one goes on: what is locked stays so to its end. Nothing may be set in
   * the caller's. Undefined where each statement is a transaction of its own.
   */
  readonly transaction?: 'callers' | 'ours';
}

/** One delay to be written; `payload` is checked JSON text. */
export interface Placement {
  name: string;
  key: string | null;
  payload: string;
  to: MoveTo;
  maxAttempts: number | null;
  onConflict: OnConflict;
}

/** An attempt that is running in this process and may move its own row on. */
export interface OwnAttempt {
  id: number;
  epoch: number;
  latenessMs: number;
}

/** A write that left a row waiting: where and when. */
export interface Placed<Verdict extends string = string> {
  verdict: Verdict;
  id: number;
  dueMs: number;
  /** Null when the row was not written by this call. */
  epoch: number | null;
  wakeMs: number | null;
  nowMs: number;
}

/** What `find` reads; instants in milliseconds since 1970, payload as JSON text. */
export interface FoundRow {
  id: string;
  name: string;
  key: string;
  payload: string;
  state: LiveState;
  due_ms: number;
  wake_ms: number | null;
  attempts: number;
  max_attempts: number | null;
  last_error: string | null;
  created_ms: number;
}

/** What `history` reads; instants in milliseconds since 1970. */
export interface HistoryRow {
  id: string;
  name: string;
  key: string | null;
  state: EndState;
  due_ms: number;
  created_ms: number;
  ended_ms: number;
  lateness_ms: number | null;
  attempts: number;
  node: string | null;
  error: string | null;
}

/** A row that some node must look at: what the read-ahead keeps, never a payload. */
export interface Wake {
  id: number;
  epoch: number;
  name: string;
  /** Milliseconds since 1970 on the database's clock. */
  wakeMs: number;
  /** An earlier attempt ended without a word: its process may have been killed by this row. */
  suspect: boolean;
  /** An earlier attempt failed, perhaps in a batch: it travels in no batch any more. */
  failed: boolean;
}

/** What to claim; the lease and the handler's attempts are per row, for names differ. */
export interface ClaimRequest {
  id: number;
  epoch: number;
  leaseMs: number;
  maxAttempts: number;
}

export interface ClaimedRow {
  id: number;
  epoch: number;
  name: string;
  key: string | null;
  payload: string;
  due_ms: number;
  created_ms: number;
  attempts: number;
  max_attempts: number;
  now_ms: number;
}

export interface LookedRow {
  id: number;
  epoch: number;
  name: string;
  attempts: number;
  max_attempts: number | null;
  leased_by: string | null;
  failed: boolean;
  wake_ms: number | null;
  now_ms: number;
}

/** The session that fences attempts, and the rows it holds for them. */
export interface FenceRow {
  pid: number;
  /** When its transaction began: microseconds since 1970. */
  began: string;
  isReadCommitted: boolean;
  ids: number[];
}

/** What had no attempt left. */
export interface BuriedRow {
  id: number;
  name: string;
  key: string | null;
  attempts: number;
  error: string;
}

/** An attempt that ended well. */
export interface Completion {
  id: number;
  epoch: number;
  latenessMs: number;
}

/** An attempt that ended while its delay stays. */
export interface Settlement {
  id: number;
  epoch: number;
  /** How long to wait for the next attempt; null: dead letter. */
  waitMs: number | null;
  /** The handler asked for another instant: due moves along with wake. */
  movesDue: boolean;
  /** Attempts given back: 1 for what was postponed or released. */
  refund: 0 | 1;
  /** Null: the last error stays. */
  error: string | null;
}

export interface SettledRow {
  id: number;
  epoch: number;
  name: string;
  failed: boolean;
  wake_ms: number | null;
}

/** Which rows a node looks after, in the shape of the statements' parameters. */
export interface Shares {
  names: string[];
  counts: number[];
  ranks: number[];
}

export interface LoadedPage {
  nodes: [id: string, names: string[]][];
  /** Of the heartbeat before this one under the same name; null: there was none. */
  lastInstance: string | null;
  wakes: Wake[];
  /** Where the next page begins; null when this one was empty. */
  cursor: Cursor | null;
  nowMs: number;
  /** The clock again, when all of this had been read. */
  laterMs: number;
}

export interface SweptPage {
  wakes: Wake[];
  /** Where the next page begins; null when everything overdue has been looked at. */
  cursor: Cursor | null;
  /** Whether anything is overdue from the page's beginning on, whoever looks after it. */
  anyOverdue: boolean;
  nowMs: number;
}

export interface Cursor {
  wakeMs: number;
  id: number;
}
