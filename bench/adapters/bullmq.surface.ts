import type { Client } from 'pg';
import type { Opaque } from './opaque.js';

/** What the bench uses of BullMQ, which is not installed with the project. */
export interface BullMQ {
  Queue: new (name: string, options: QueueOptions, backend?: Backend) => BullQueue;
  Worker: new (
    name: string,
    processor: (job: BullJob) => Promise<void>,
    options: WorkerOptions,
    backend?: Backend,
  ) => BullWorker;
  createPostgresBackend: Backend;
  runMigrations: (client: Client) => Promise<number>;
}

/** Makes the store; left out: Redis. */
export type Backend = Opaque;

export type BullConnection =
  | { host: string; port: number; maxRetriesPerRequest: null }
  | { connectionString: string; max: number };

interface QueueOptions {
  connection: BullConnection;
  defaultJobOptions: { removeOnComplete: true };
}

interface WorkerOptions {
  connection: BullConnection;
  concurrency: number;
  autorun: false;
}

export interface BullJob {
  data: { n: number };
  /** When it was added, in milliseconds since 1970. */
  timestamp: number;
  opts: { delay?: number };
}

export interface BullWorker {
  on(event: 'completed', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  waitUntilReady(): Promise<unknown>;
  /** Resolves when it is closed. */
  run(): Promise<void>;
  close(): Promise<void>;
}

export interface BullQueue {
  on(event: 'error', listener: (error: Error) => void): unknown;
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: { n: number }, options: JobOptions): Promise<unknown>;
  addBulk(jobs: { name: string; data: { n: number }; opts: JobOptions }[]): Promise<unknown>;
  /** @returns 0 when there was none, or a worker has it; but 1 for none where the store is Redis */
  remove(id: string): Promise<number>;
  getJobCounts(...states: string[]): Promise<Record<string, number>>;
  close(): Promise<void>;
}

interface JobOptions {
  jobId: string;
  delay: number;
  timestamp?: number;
}
