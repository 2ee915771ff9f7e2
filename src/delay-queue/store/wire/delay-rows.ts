import type { EndState, LiveState, OnConflict } from '../../delay/delay.js';
import type { GivenRepeat } from '../../validation/schedule-options.js';
import type { MoveTo } from '../../validation/when.js';

/*
 * What the store takes and gives of delays. Ids and epochs are numbers: 2^53 of them last for any queue. How the
 * statements answer is in `answers.ts` and `../write-answers.ts`.
 */

/** One delay to be written; `payload` is checked JSON text. */
export interface NewDelay {
  name: string;
  key: string | null;
  payload: string;
  to: MoveTo;
  maxAttempts: number | null;
  onConflict: OnConflict;
  /** With `replace`: due so long after it was first scheduled, at the latest. */
  maxWaitMs?: number | null;
  group: string | null;
  /** JSON text. */
  headers: string | null;
  /** While its key runs, it is kept for when that run has ended. */
  reruns?: boolean;
  /** How it recurs; absent or null: once, or as it did. */
  repeat?: GivenRepeat | null;
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
  /** Undefined where the statement does not say: of what was scheduled the caller knows. */
  group?: string | null | undefined;
  dueMs: number;
  /** Null when the row was not written by this call. */
  epoch: number | null;
  wakeMs: number | null;
  nowMs: number;
  /** A cancel removed what was kept of that key. */
  rerunCancelled?: true;
}

/** What `find` reads; instants in milliseconds since 1970, payload as JSON text. */
export interface FoundRow {
  id: string;
  name: string;
  key: string;
  group: string | null;
  headers: string | null;
  payload: string;
  state: LiveState;
  due_ms: number;
  wake_ms: number | null;
  attempts: number;
  max_attempts: number | null;
  last_error: string | null;
  created_ms: number;
  /** JSON text. */
  repeat: string | null;
  /** JSON text; null: none are kept. */
  attempt_log: string | null;
  /** JSON text; null: it was never moved. */
  move_log: string | null;
  /** When its key is due once more, after this run. */
  rerun_ms: number | null;
}

/** What `list` reads. */
export interface ListedRow extends FoundRow {
  /** JSON text; null: it is dead. */
  waits_for: string | null;
}

/** What `history` reads; instants in milliseconds since 1970. */
export interface HistoryRow {
  id: string;
  name: string;
  key: string | null;
  group: string | null;
  /** JSON text. */
  headers: string | null;
  state: EndState;
  due_ms: number;
  created_ms: number;
  ended_ms: number;
  lateness_ms: number | null;
  attempts: number;
  node: string | null;
  error: string | null;
  /** JSON text; null: none are kept. */
  attempt_log: string | null;
  /** JSON text; null: it was never moved. */
  move_log: string | null;
}

/** A name and key as one text: no name has a space in it. */
export const keyText = ({ name, key }: { name: string; key: string | null }): string =>
  `${name} ${key}`;
