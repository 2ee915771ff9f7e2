export {
  DelayQueueDashboardModule,
  type DelayQueueDashboardAsyncOptions,
} from './dashboard.module.js';
export type { DashboardAuthorize, DashboardGrant, DelayQueueDashboardOptions } from './options.js';
export type { DashboardAction } from './contract.js';
