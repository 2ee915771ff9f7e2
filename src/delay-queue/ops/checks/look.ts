import type { DataSource } from 'typeorm';
import type { DelayStats } from '../../core/index.js';
import type { Finding, Runner, Tables } from '../../core/ops.js';
import type { HealthLimits } from './health-limits.js';
import type { ServerNow } from './server.sql.js';

/** The database that is examined. */
export interface Examined {
  dataSource: Pick<DataSource, 'createQueryRunner' | 'query'>;
  runner: Runner;
  /** For statements that read a whole table. */
  slowly: Runner;
  schema: string;
  tables: Tables;
  server: ServerNow;
  stats: () => Promise<DelayStats>;
  /** When something counts as late, held or forgotten. */
  limits: HealthLimits;
  /** How long a silent node still counts as alive. */
  aliveMs: number;
}

/** An entry of the catalogue of checks. */
export interface Look {
  check: string;
  find: (on: Examined) => Promise<readonly Finding[]>;
  /** What is said when nothing was found; without it, nothing. */
  ok?: string;
}
