// By a star: only then does `declare module` merge into DelayPayloads.
export type * from './core/api/delay.js';
export type {
  DelayTarget,
  DelayFilter,
  StoryFilter,
  HistoryFilter,
  PageOptions,
  GroupStatsOptions,
  Counts,
  AbortCounts,
  MatchingOptions,
  EraseFilter,
  EraseOptions,
  EraseCounts,
  ChangedDelay,
  PauseOptions,
  ResumeOptions,
  DelayPause,
  NameStats,
  GroupStats,
  NodeStats,
  DelayStats,
  HistoryPage,
  KeyStory,
} from './core/api/selection.js';
export type { DelayExplanationCause, DelayExplanation } from './core/api/explanation.js';
export {
  DelayError,
  DelayConfigError,
  DelayInvalidError,
  DelayConflictError,
  DelayUnstableError,
  DelayRolledBackError,
  DelayTransactionOverError,
  DelayUnbegunError,
  DelayTimeoutError,
  DelayLeaseLostError,
  DelayAbortedError,
  DelayWheelFullError,
  DelayShutdownError,
  DelayUnavailableError,
  DelayOutcomeUnknownError,
  DiscardDelay,
  PostponeDelay,
  DelayGuardError,
  DelayInterceptorError,
  DelayAroundError,
  type PayloadIssue,
  DelayPayloadError,
  DelayCodecError,
} from './core/api/errors.js';
export { printable, printableError } from './core/api/error-text.js';
export {
  DelayQueueModule,
  type DelayQueueModuleAsyncOptions,
  type DelayQueueModuleExtras,
  type DelayQueueModuleOptions,
  type DelayQueueOptionsFactory,
} from './delay-queue.module.js';
export type {
  DelayQueueOptions,
  DelayHistoryOptions,
  BackoffOptions,
  BackoffFunction,
  DelayEnhancers,
  PayloadSchema,
  PayloadOwner,
  PayloadCodec,
} from './core/api/options.js';
export { DelayAdmin } from './core/module/delay.admin.js';
export { DelayHealth } from './ops/delay.health.js';
export { getDelaysToken, InjectDelays } from './core/module/inject-delays.js';
export type {
  HealthStatus,
  HealthReason,
  HealthReport,
  HealthOptions,
  DelayFigures,
} from './core/api/health.js';
export { DelayService } from './core/module/delay.service.js';
export { DelayWorker } from './core/module/delay.worker.js';
export { DelayEvents, type AttemptEvent, type DelayEventMap } from './core/api/events.js';
export {
  delayChannels,
  type AttemptEnd,
  type DelayAdminMessage,
  type DelayAttemptMessage,
  type DelayChannelMap,
  type DelayChannelName,
  type DelayMessage,
} from './core/api/channels.js';
export type { DelayTelemetry } from './core/api/telemetry.js';
export {
  type DecoratorOf,
  OnDelay,
  OnDelayEvent,
  OnDeadDelay,
  type QueueChoice,
  type DelayMethod,
  type OnDelayBatchOptions,
  type OnDelayOptions,
  RepeatDelay,
  type RepeatDelayOptions,
} from './core/handlers/decorators.js';
export type { LimitOptions } from './core/handlers/handler-limits.js';
export { delayCallOf } from './core/handlers/delay-request.js';
export type { DelayBatchRequest, DelayRequest } from './core/handlers/delay-request.js';
export { joinTransaction, joinTransactionHost } from './core/module/join-transactions.js';
export { delayQueueMigrations, type MigrationClass } from './core/store/tables/migrations.js';
export { runMigrations } from './core/store/tables/migrations.js';
export type { WheelTimer } from './core/timer-wheel/volatile-timers.js';
export { WHEEL_CAPACITY, WheelService } from './core/timer-wheel/wheel.service.js';
