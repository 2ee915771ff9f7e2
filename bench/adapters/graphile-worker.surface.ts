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
    taskList: Record<string, (payload: Opaque, helpers: { job: { run_at: Date } }) => void>;
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

export interface GraphileClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

interface JobSpec {
  runAt: Date;
  jobKey: string;
}
