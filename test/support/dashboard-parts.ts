/** The types by which specs read the answers of the dashboard, and its parts. What moves in `src` moves here alone. */
export {
  CHANGE_HEADER,
  DASHBOARD_ACTIONS,
  type DashboardAction,
  type DeadView,
  type DelayLine,
  type DelayView,
  type NameChoice,
  type NameLine,
  type OperationLine,
  type OperationsPage,
  type OperationView,
  type Overview,
  type Preview,
  type Problem,
  type ProblemKind,
  type SearchPage,
  type Session,
  type StoryView,
} from '../../src/delay-queue/dashboard/contract.js';
export type { DashboardQueue } from '../../src/delay-queue/dashboard/queue.js';
export { apiRoutes } from '../../src/delay-queue/dashboard/routes.js';
export { parseOrder } from '../../src/delay-queue/dashboard/operation-order.js';
export { SEARCH_FIELDS, type SearchFilter } from '../../src/delay-queue/dashboard/search.table.js';
export { Rights } from '../../src/delay-queue/dashboard/rights.js';
export {
  checkSearchFilter,
  visibleSelection,
} from '../../src/delay-queue/dashboard/search-filter.js';
export { asRefusal, filtered } from '../../src/delay-queue/dashboard/failures.js';
export { SETTINGS } from '../../src/delay-queue/dashboard/dashboard-database.js';
export { DelaySearch } from '../../src/delay-queue/dashboard/search.js';
export {
  ENDS_READ_MAX,
  OverviewStore,
  type Scope,
} from '../../src/delay-queue/dashboard/store/overview.store.js';
export { WALK_ROWS_MAX } from '../../src/delay-queue/dashboard/store/search.store.js';
