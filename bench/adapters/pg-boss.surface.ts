/** What the bench uses of pg-boss, which is not installed with the project. */
export interface PgBossPackage {
  PgBoss: new (options: BossOptions) => PgBoss;
}

/** How it reaches the database: its own pool, or whatever runs statements. */
export interface BossDatabase {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** What a transactional worker needs. */
  beginTransaction?(): Promise<BossTransaction>;
}

export interface BossTransaction {
  db: BossDatabase;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export interface BossOptions {
  db: BossDatabase;
  /** Looks after queues, and after schedules, at intervals. */
  supervise?: boolean;
  schedule?: boolean;
}

export interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): unknown;
  start(): Promise<unknown>;
  stop(options: { graceful: boolean }): Promise<void>;
  createQueue(name: string): Promise<void>;
  work(
    name: string,
    options: WorkOptions,
    handler: (jobs: { data: BossData }[], transaction: BossDatabase) => Promise<void>,
  ): Promise<unknown>;
  send(name: string, data: BossData, options: { id: string; startAfter: Date }): Promise<unknown>;
  insert(name: string, jobs: BossInsert[]): Promise<unknown>;
  /** @returns `{ affected }`, of which its types say nothing */
  cancel(name: string, id: string, options?: { db: BossDatabase }): Promise<object>;
}

export interface WorkOptions {
  batchSize?: number;
  localConcurrency?: number;
  pollingIntervalSeconds?: number;
  burstWhenBatchFull?: boolean;
  transactional?: boolean;
}

/** Without its columns: to ask for them makes every fetch dearer. */
export interface BossData {
  n: number;
  dueMs: number;
}

export interface BossInsert {
  id: string;
  data: BossData;
  startAfter: Date;
}
