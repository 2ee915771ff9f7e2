/** What the bench and the processes it starts say to each other. */

/** The only argument of a process, as JSON. */
export interface WorkOrder {
  role: 'worker' | 'producer';
  /** Name of the adapter. */
  system: string;
  url: string;
  /** Delays are numbered 0 … count - 1. */
  count: number;
  /** Of a worker. */
  concurrency: number;
  /** Of a producer. */
  ratePerSecond: number;
}

/** `report` is asked for after the work, `stop` at the very end. */
export type Command = { type: 'start' } | { type: 'report' } | { type: 'stop' };

export type Message =
  | { type: 'ready' }
  /** Several times a second while there is something new. */
  | { type: 'progress'; settled: number }
  | { type: 'produced'; stoppedAtMs: number; answeredInMs: number }
  | WorkerReport
  | { type: 'failed'; reason: string };

/** What one worker process saw. */
export interface WorkerReport {
  type: 'report';
  /** Times the handler of each delay ran here, 255 at most. */
  runs: Uint8Array;
  /** Handlers that ran for a number nobody measured. */
  strays: number;
  /** Handler starts in their order: due on the database's clock, and start minus due. */
  dueMs: Float64Array;
  latenessMs: Float64Array;
  /** How sure the lateness is, either way. */
  uncertaintyMs: number;
  /** Largest difference to what the system says itself; NaN when it says nothing. */
  ownDifferenceMs: number;
  /** Longest time between two delays it was done with: a drain that stalls shows it here. */
  longestPauseMs: number;
  /** On the monotonic clock that all processes of a machine share. */
  lastSettledAtNs: bigint;
  cpuSeconds: number;
}
