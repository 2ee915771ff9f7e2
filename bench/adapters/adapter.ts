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
}

/** A worker in this process, connected and ready; nothing is fetched before `start`. */
export interface BenchWorker {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Schedules one by one, as an application does. */
export interface BenchProducer {
  /** Resolves when delay `n` is committed. */
  schedule(n: number, dueInMs: number): Promise<void>;
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

/** One system under test; each number `n` travels as the payload `{"n":…}`. */
export interface Adapter {
  readonly name: string;
  /** How it is set up, for whoever reads the results. */
  readonly settings: string;
  /** Tables in an empty database. */
  prepare(url: string): Promise<void>;
  /** Not measured, so it may write rows directly, as the system itself would have written them. */
  fill(url: string, batch: Batch): Promise<void>;
  openWorker(url: string, concurrency: number, hears: Hears): Promise<BenchWorker>;
  openProducer(url: string): Promise<BenchProducer>;
  /** Delays that still stand in the table. */
  left(url: string): Promise<number>;
}

/** The highest number of those that stand beside the measured ones, due long after them. */
export const BESIDE = -1;
