/**
 * The core's port: what looks at the queue, steers it or decorates it (`ops`, `cli`, `testing`, `opentelemetry`,
 * `dashboard`) imports this file, the words in `index.ts` and `diagnosis.ts`, and nothing else of the core.
 */
export { type Cancelling, parseCancel, parseNameAndKey, parsePause } from './client/arguments.js';
export { DelayClient } from './client/delay-client.js';
export { explainEnd } from './client/explanations.js';
export { begunAt, needsClock } from './client/first-instants.js';
export { readingClient } from './client/reading.js';
export { toInfo, toListed } from './client/results.js';
export { hears, startListening, stopListening } from './cluster/hearing.js';
export {
  checkGroup,
  checkId,
  checkKey,
  checkName,
  checkText,
  integer,
  isPlainArray,
} from './config/checks.js';
export {
  type DueTime,
  durationIn,
  type MoveTo,
  parseDurationMs,
  parseRescheduleTo,
  parseWhen,
} from './config/durations.js';
export { checkInstant, parseInstant } from './config/instants.js';
export { checkKnownOptions, parseByTable } from './config/known-options.js';
export { atStart, blamedOn } from './config/refusals.js';
export { shown } from './config/shown.js';
export {
  checkSchema,
  GIVEN_OPTIONS,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
  resolveOptions,
} from './config/options.js';
export { watchPool } from './database/application-pool.js';
export { postgresDriver, givenPoolOptions } from './database/postgres-driver.js';
export { checkQueue, DEFAULT_QUEUE, EVENTS, QUEUE } from './config/queue-names.js';
export { getDelaysToken } from './module/inject-delays.js';
export { type Queue, queuesIn } from './module/queues.js';
export { DATA_SOURCE } from './database/chosen-data-source.js';
export {
  bring,
  BY_INDEX,
  engineConfig,
  lookSettings,
  type SessionSettings,
  UNCOMPILED,
} from './database/connection-config.js';
export { PgDataSource } from './database/pg-data-source.js';
export { EngineConnections } from './database/engine-connections.js';
export { byPurpose } from './database/prepared-statements.js';
export { given, type Runner, type Transactor } from './database/runner.js';
export {
  ageMs,
  allTables,
  dateMs,
  epochMs,
  type Installation,
  ON_PRIMARY,
  plusMs,
  presentEpochUs,
  type Tables,
  qualifiedTables,
  wakeSql,
} from './database/tables.js';
export { HandlerRegistry } from './handlers/handler.registry.js';
export { DelayAdmin } from './module/delay.admin.js';
export { DelayService } from './module/delay.service.js';
export { DelayWorker } from './module/delay.worker.js';
export { isSameRule, Recurrence, type StoredRepeat } from './recurrence/recurrence.js';
export { type Catalogued, type Drift, findDrift, readCatalogue } from './store/checks/drift.js';
export {
  type Check,
  type Finding,
  judge,
  type Level,
  notice,
  ok,
  problem,
} from './store/checks/finding.js';
export { judgeIds } from './store/checks/identity.js';
export { findStranger } from './store/checks/owners.js';
export { SERVER, SERVER_CHECKS, TIME_LIMIT_MS_MIN, TIME_LIMITS } from './store/checks/server.js';
export { PauseStore } from './store/pause.store.js';
export { type AsText, type CountAnswer, msOfUs } from './store/rows/answers.js';
export {
  type TextAnswer,
  asDate,
  asFlag,
  asInstant,
  asJson,
  asMs,
  asNumber,
  asText,
  toNumber,
  reader,
  type RowOf,
  selected,
} from './store/rows/columns.js';
export {
  inLockOrder,
  keyOrNull,
  keyText,
  type NameAndKey,
  type NewDelay,
  NO_KEY,
  numbers,
  type Target,
  texts,
  type Wake,
} from './store/rows/delay-rows.js';
export { SelectionStore } from './store/selection.store.js';
export type { FoundRow } from './store/sql/delays.sql.js';
export {
  clock,
  expectMany,
  IS_SERVED,
  liveNames,
  lives,
  LOADS_MISSED_MAX,
  nodesNow,
  saidAt,
} from './store/sql/fragments/clock.js';
export {
  endedFilter,
  eraseFilter,
  indexedBy,
  indexFor,
  liveFilter,
  matching,
  namesWithKeys,
  type RowFilter,
  walkBounds,
} from './store/filter.table.js';
export { errorKind, firstLine } from './store/sql/fragments/state-and-error.js';
export { ENDED } from './store/sql/history.sql.js';
export { liveNodesSql } from './store/sql/nodes.sql.js';
export { anyHeld, fullLimits, runningUnder, throttledBy } from './store/sql/stats.sql.js';
export { dueOneSql, dueSql, nextSql } from './store/sql/testing.sql.js';
export { functionSignatures } from './store/tables/functions.js';
export { wrongWith } from './store/rows/row-rules.js';
export { delayQueueMigrations, migrationStatements } from './store/tables/migrations.js';
export { ZoneStore } from './store/zone.store.js';
export { type Growth, pauseMs, rest } from './tasks/pauses.js';
export { LATE, within } from './tasks/signal.js';
export { WheelService } from './timer-wheel/wheel.service.js';
export { Engine } from './engine/engine.js';
export { ManualRuns } from './worker/manual-runs.js';
export { isManual } from './worker/test-clock.js';
