import type { DelayQueueOptions, OnDelayOptions } from 'nestjs-delay-queue';
import type { Repeats } from '../../support/repeated.js';

/** Nobody catches what these do. */
export type Fatal = 'die' | 'abort' | 'reject' | 'throw-later';

/** What a worker does with the delays of one name, beside writing a line into the ledger. */
export interface Served extends Pick<
  OnDelayOptions,
  'concurrency' | 'timeout' | 'maxAttempts' | 'backoff'
> {
  /**
   * `note`: the line alone. `hold`: waits for the parent first. `die`, `abort`, `reject`, `throw-later`: ends its own
   * process. `seize`: blocks the event loop until `WorkerSetup.until` exists; `freed`: waits until that is over.
   */
  does: 'note' | 'hold' | 'seize' | 'freed' | Fatal;
  /** The line is part of the attempt's own transaction. */
  fenced?: boolean;
  /** Its delay recurs. */
  repeat?: Repeats;
  /** Holds on although its signal aborts. */
  stubborn?: boolean;
}

/** What the parent tells a worker at its start. */
export interface WorkerSetup {
  url: string;
  serves?: Record<`test.${string}`, Served>;
  options?: DelayQueueOptions;
  /** See `makeSweepsRare`. */
  rareSweeps?: boolean;
  /** A file. */
  until?: string;
}

/** What the parent tells a worker later. */
export interface Order {
  /** The handler that holds this key may go on. */
  go?: string;
  /** Asks for `claims`. */
  count?: true;
  schedule?: { name: `test.${string}`; key: string; afterMs?: number; atMs?: number };
  /** Moves what was scheduled to a later time. */
  extend?: { name: `test.${string}`; key: string; byMs: number };
}

/** What a worker tells. */
export interface WorkerMessage {
  ready?: number;
  /** A handler waits for `go`. */
  holding?: string;
  attempt?: number;
  /** The signal of that key's attempt aborted. */
  aborted?: string;
  claims?: { asked: number; got: number };
  scheduled?: string;
  extended?: string;
  id?: string;
  dueAtMs?: number;
  /** The worker's own wall clock. */
  nowMs?: number;
  /** Minutes behind UTC of what was scheduled, in the worker's time zone. */
  offset?: number;
  event?: string;
  key?: string;
}

export interface LedgerLine {
  delay_id: string;
  name: string;
  key: string | null;
  node: string;
  attempt: number;
  /** The line's `clock_timestamp()` minus due. */
  late_ms: number;
  lateness_ms: number;
}
