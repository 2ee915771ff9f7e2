import type { DelayEvents } from '../api/events.js';
import type { ResolvedOptions } from '../config/options.js';
import type { DelayAdmin } from '../delay.admin.js';
import type { DelayHealth } from '../delay.health.js';
import type { DelayService } from '../delay.service.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import type { DashboardDatabase } from './dashboard-database.js';
import type { ResolvedDashboardOptions } from './options.js';

/** What the routes stand on. */
export interface DashboardQueue {
  /** For looks. */
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
  /** Aborted when the application closes: streams and running operations end. */
  closing: AbortSignal;
}
