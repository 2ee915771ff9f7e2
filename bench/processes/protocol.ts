/** What the bench and the processes it starts say to each other. */
import type { Running } from '../adapters/adapter.js';
import type { CpuTime } from '../server/process-cpu.js';

/** The only argument of a process, as JSON. */
export type WorkOrder = WorkerOrder | ProducerOrder;

export interface WorkerOrder {
  role: 'worker';
  /** Name of the adapter. */
  system: string;
  url: string;
  /** Delays are numbered 0 … count - 1. */
  count: number;
  running: Running;
  /** Looks for blocks of the event loop, with a timer that an idle process would not have. */
  watchesLoop?: boolean;
}

export interface ProducerOrder {
  role: 'producer';
  /** Name of the adapter. */
  system: string;
  url: string;
}

export type Command =
  /** To a worker: fetches from now on. It tells `started` when the system says that it runs. */
  | { type: 'start' }
  /** To a worker: stops, and opens again in the same process; it tells `reopened`. */
  | { type: 'reopen' }
  /** To a worker: what it has done so far was preparation; it goes on, and tells `forgotten`. */
  | { type: 'forget' }
  /** To a producer: schedules delays 0 … count - 1 at a steady pace; it tells `produced`. */
  | { type: 'produce'; count: number; ratePerSecond: number }
  /** To a producer: as fast as the answers come; it tells `called`. */
  | CallOrder
  /** To a worker, after the work; it tells `report`. */
  | { type: 'report' }
  /** To either, at the very end. */
  | { type: 'stop' };

/** Calls about delays `first` … `first + count - 1`. */
export interface CallOrder {
  type: 'call';
  call: Call;
  first: number;
  count: number;
  /** Calls that wait for their answers at a time. */
  inFlight: number;
  /** Delays of one `scheduleMany`. */
  size: number;
  /** Of what is scheduled. */
  dueInMs: number;
}

/** Methods of a producer. */
export const CALLS = ['schedule', 'scheduleMany', 'cancel', 'cancelInTransaction'] as const;
export type Call = (typeof CALLS)[number];

export type Message =
  /** A producer also says what it can be called. */
  | { type: 'ready'; calls: readonly Call[] }
  | { type: 'started' }
  /** What was handled and used before is forgotten, after either. */
  | { type: 'reopened' }
  | { type: 'forgotten' }
  /** Several times a second while there is something new. */
  | { type: 'progress'; settled: number }
  | { type: 'produced'; stoppedAtMs: number; answeredInMs: number }
  | Called
  | WorkerReport
  | { type: 'failed'; reason: string };

/** What one producer process did. */
export interface Called {
  type: 'called';
  /** From the first call to the last answer. */
  elapsedMs: number;
  cpuSeconds: number;
  /** Cancels that found their delay. */
  found: number;
}

/** What one worker process saw. */
export interface WorkerReport {
  type: 'report';
  /** Times the handler of each delay ran here, 255 at most. */
  runs: Uint8Array;
  /** Handlers that ran for a number that is not measured. */
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
  /** The first handler start, on the same clock; 0 when none started. */
  firstHandledAtNs: bigint;
  /** How often it asked for delays; 0 where that cannot be seen. */
  claims: number;
  cpu: CpuTime;
  cpuSeconds: number;
  roundTrips: number;
  /** Longest time that the event loop did nothing else; NaN when it was not asked for. */
  longestBlockMs: number;
  /** The most memory that the process had since it was told to start. */
  memoryBytes: number;
}
