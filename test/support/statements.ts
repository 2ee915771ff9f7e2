/** SQL of the library that specs plan, send, or compare. What moves in `src` moves here alone. */
export { takeAdvisoryLock } from '../../src/delay-queue/core/database/advisory-lock.js';
export {
  bring,
  callersSettings,
  engineSettings,
  type SessionSettings,
} from '../../src/delay-queue/core/database/connection-config.js';
export { isClaimLost, raiseIdsSql } from '../../src/delay-queue/core/database/driver-errors.js';
export { endSessionSql, sessionSql } from '../../src/delay-queue/core/database/sessions.sql.js';
export { qualifiedTables } from '../../src/delay-queue/core/database/tables.js';
export type { RowFilter } from '../../src/delay-queue/core/store/filter.table.js';
export {
  completeSql,
  exhaustedSql,
  removeAllSql,
  removeOneSql,
  renewSql,
  retrySql,
} from '../../src/delay-queue/core/store/sql/attempts.sql.js';
export {
  claimLimitedSql,
  claimSql,
  lockQuotasSql,
} from '../../src/delay-queue/core/store/sql/claim.sql.js';
export { findSql } from '../../src/delay-queue/core/store/sql/delays.sql.js';
export { loadSql, sweepSql } from '../../src/delay-queue/core/store/sql/fetch.sql.js';
export { presenceSql } from '../../src/delay-queue/core/store/sql/fragments/clock.js';
export { Targets } from '../../src/delay-queue/core/store/sql/fragments/target-rows.js';
export { historySql, pruneSql } from '../../src/delay-queue/core/store/sql/history.sql.js';
export { pausesSql } from '../../src/delay-queue/core/store/sql/nodes.sql.js';
export { scheduleAllNewSql } from '../../src/delay-queue/core/store/sql/schedule.sql.js';
export {
  cancelOneSql,
  createTestClock,
  scheduleOneSql,
} from '../../src/delay-queue/core/store/tables/functions.js';
export {
  operationChangesSql,
  operationsOfKeySql,
  operationsSql,
} from '../../src/delay-queue/dashboard/store/operations.sql.js';
export { backlogSql } from '../../src/delay-queue/ops/health.sql.js';
