import type { DelayQueueOptions, OnDelayOptions } from 'nestjs-delay-queue';
import type { Repeats } from '../../support/repeated.js';

/** What a worker does with the delays of one name, beside writing a line into the ledger. */
export interface Served extends Pick<
  OnDelayOptions,
  'concurrency' | 'timeout' | 'maxAttempts' | 'backoff'
> {
  /** `note`: the line alone. `hold`: waits for the parent first. `die`: kills its own process. */
  does: 'note' | 'hold' | 'die';
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
  poolMax?: number;
  /** See `makeSweepsRare`. */
  rareSweeps?: boolean;
}

/** What the parent tells a worker later. */
export interface Order {
  /** The handler that holds this key may go on. */
  go?: string;
  /** Asks for `claims`. */
  count?: true;
  schedule?: { name: `test.${string}`; key: string; afterMs: number };
}

/** What a worker tells. */
export interface WorkerMessage {
  ready?: number;
  /** A handler waits for `go`. */
  holding?: string;
  attempt?: number;
  /** The signal of that key's attempt aborted. */
  aborted?: string;
  /** A claim of so many rows is about to be sent. */
  claiming?: number;
  claims?: { statements: number; asked: number; got: number };
  scheduled?: string;
  id?: string;
  dueAtMs?: number;
  /** The worker's own wall clock. */
  nowMs?: number;
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
