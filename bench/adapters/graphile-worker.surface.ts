import type { Pool } from 'pg';
import type { Opaque } from './opaque.js';

/** What the bench uses of graphile-worker, which is not installed with the project. */
export interface GraphileWorker {
  Logger: new (factory: () => (level: string, message: string) => void) => Opaque;
  runMigrations(options: { connectionString: string; logger: Opaque }): Promise<void>;
  run(options: {
    pgPool: Pool;
    logger: Opaque;
    preset: { worker: object };
    noHandleSignals: true;
    parsedCronItems: [];
    taskList: Record<string, GraphileTask>;
  }): Promise<{ stop(): Promise<void> }>;
  makeWorkerUtils(options: {
    connectionString: string;
    maxPoolSize: number;
    logger: Opaque;
  }): Promise<GraphileWorkerUtils>;
}

export interface GraphileWorkerUtils {
  addJob(identifier: string, payload: object, spec: JobSpec): Promise<unknown>;
  addJobs(specs: readonly (JobSpec & { identifier: string; payload: object })[]): Promise<unknown>;
  withPgClient<T>(call: (client: GraphileClient) => Promise<T>): Promise<T>;
  release(): unknown;
}

export type GraphileTask = (payload: Opaque, helpers: GraphileHelpers) => void | Promise<void>;

/** What a task is given: a query runs on a connection of the pool, not in a transaction of the job's. */
export interface GraphileHelpers {
  job: { run_at: Date };
}

export interface GraphileClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

interface JobSpec {
  runAt: Date;
  jobKey: string;
}
