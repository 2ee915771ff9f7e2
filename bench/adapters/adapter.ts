import type { CpuTime } from '../server/process-cpu.js';

/** What a worker tells about the delays it runs; called in the worker's process. */
export interface Hears {
  /**
   * The handler of delay `n` was called.
   * @param dueMs milliseconds since 1970, as the row says
   * @param ownLatenessMs what the system itself says about it, if it does
   */
  handled(n: number, dueMs: number, ownLatenessMs?: number): void;
  /** The system is done with one delay: it would not run it again after a crash from now on. */
  settled(): void;
  /** It asked its store for delays to run; not called where that cannot be seen. */
  claimed(): void;
}

/**
 * What the handler of each delay does: nothing (`plain`), the same as an async function, or the close of an order in a
 * transaction, through TypeORM: that of the attempt, or one that the handler opens (`close`).
 */
export const HANDLERS = ['plain', 'async', 'close'] as const;
export type HandlerKind = (typeof HANDLERS)[number];

/** Those that `drain` runs. */
export const DRAIN_HANDLERS = ['plain', 'async'] as const satisfies readonly HandlerKind[];

/** How a worker runs delays. */
export interface Running {
  handler: HandlerKind;
  /** Handlers at a time, where a system lets one choose; left out: as it comes. */
  concurrency?: number | undefined;
  /** Delays of one call of the handler, where it is given many at once. */
  batch?: number | undefined;
}

/** A worker in this process, connected and ready; nothing is fetched before `start`. */
export interface BenchWorker {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** What an application calls. What a system has not is left out, and its row then says `cannot`. */
export interface BenchProducer {
  /** Schedules delay `n`, with a business key where the system has one; resolves when it is committed. */
  schedule(n: number, dueInMs: number): Promise<void>;
  /** Schedules `first` … `first + count - 1` the fastest way the system offers its users. */
  scheduleMany?(first: number, count: number, dueInMs: number): Promise<void>;
  /** Cancels delay `n` by its key, in no transaction of the caller's. @returns whether it was there */
  cancel?(n: number): Promise<boolean>;
  /** The same as part of a transaction of the caller's, which is committed when it resolves. */
  cancelInTransaction?(n: number): Promise<boolean>;
  stop(): Promise<void>;
}

/** Delays to be put into an empty table in bulk: numbers `first` … `first + count - 1`. */
export interface Batch {
  first: number;
  count: number;
  /** Due spread evenly between these, counted from now; negative: overdue. */
  dueFromMs: number;
  dueToMs: number;
}

/** The server of a system that keeps its delays elsewhere than in the Postgres of the run. */
export interface OtherServer {
  /** Since it started; NaN where it cannot be told. */
  cpuTime(): Promise<CpuTime>;
  /** Commands that it has carried out for its clients since it started; NaN where it cannot be told. */
  commands(): Promise<number>;
}

/**
 * One system under test; each number `n` travels as the payload `{"n":…}`. All URLs are those of the
 * measurement's own Postgres database, whose clock also tells the lateness of systems that keep
 * their delays elsewhere.
 */
export interface Adapter {
  readonly name: string;
  /** How it is set up, for those who read the results. */
  readonly settings: string;
  /** What has to be installed before it can be measured, each with how; empty or left out: nothing. */
  missing?(): readonly string[];
  /** The Node that its processes run on; left out: the one of the bench. */
  readonly execPath?: string | undefined;
  /** Why it is measured only when `--systems` gives its whole name. */
  readonly onlyByName?: string;
  /**
   * Left out by a system on the run's Postgres: its database is prepared and filled once, and copied
   * for each round. The others are prepared and filled anew before each measurement.
   */
  readonly elsewhere?: OtherServer;
  /** Which handlers it can be given; left out: one that does nothing, in its own way. */
  readonly handlers?: readonly HandlerKind[];
  /** Whether it heeds `concurrency`; the others have their settings from their documentation. */
  readonly takesConcurrency?: boolean;
  /** Tables in an empty database; where `elsewhere`, a store without any delay. */
  prepare(url: string): Promise<void>;
  /** Not measured, so it may write rows directly, as the system itself would have written them. */
  fill(url: string, batch: Batch): Promise<void>;
  openWorker(url: string, running: Running, hears: Hears): Promise<BenchWorker>;
  openProducer(url: string): Promise<BenchProducer>;
  /** Delays that still stand in the table. */
  left(url: string): Promise<number>;
}

/** The highest number of those that stand beside the measured ones. */
const BESIDE = -1;

const DAY_MS = 86_400_000;

/** Delays that stand beside the measured ones: due in one to thirty days. */
export async function fillBeside(adapter: Adapter, url: string, count: number): Promise<void> {
  if (count === 0) return;
  const first = BESIDE - (count - 1);
  await adapter.fill(url, { first, count, dueFromMs: DAY_MS, dueToMs: 30 * DAY_MS });
}
