import type { DelayEvents } from '../core/index.js';
import type { DelayAdmin, DelayService, HandlerRegistry, ResolvedOptions } from '../core/ops.js';
import type { DelayHealth } from '../ops/delay.health.js';
import type { Session } from './contract.js';
import type { DashboardDatabase } from './dashboard-database.js';
import type { ResolvedDashboardOptions } from './options.js';

export interface DashboardQueue {
  database: DashboardDatabase;
  /** For changes: they are written as those of the application, and announced to all nodes. */
  admin: DelayAdmin;
  delays: DelayService;
  /** Of the node in this process. */
  health: DelayHealth | null;
  /** Of the node in this process; `null`: there is none. */
  events: DelayEvents | null;
  /** Of the node in this process; `null`: there is none. */
  handlers: HandlerRegistry | null;
  options: ResolvedOptions;
  dashboard: ResolvedDashboardOptions;
  /** As in {@link Session}. */
  queues: Session['queues'];
  /** Aborted when the application closes: streams and running operations end. */
  closing: AbortSignal;
}
