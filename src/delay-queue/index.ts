// By a star: only then does `declare module` merge into DelayPayloads.
export type * from './core/api/delay.js';
export type * from './core/api/selection.js';
export type * from './core/api/explanation.js';
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
export type { DataSourceChoice } from './core/database/chosen-data-source.js';
export type * from './core/api/options.js';
export { DelayAdmin } from './core/module/delay.admin.js';
export { DelayHealth } from './ops/delay.health.js';
export type * from './core/api/health.js';
export { getDelaysToken, InjectDelays } from './core/module/inject-delays.js';
export { DelayService } from './core/module/delay.service.js';
export { DelayWorker } from './core/module/delay.worker.js';
export {
  DelayEvents,
  type AttemptEndEvent,
  type SkippedEvent,
  type AttemptEvent,
  type AttemptFailedEvent,
  type DeadEvent,
  type DelayEmitter,
  type DelayEventMap,
  type DelayListener,
  type WrittenEvent,
} from './core/api/events.js';
export {
  delayChannels,
  type AttemptEnd,
  type DelayAdminAction,
  type DelayAdminMessage,
  type DelayAttemptMessage,
  type DelayChangeMessage,
  type DelayChannelMap,
  type DelayChannel,
  type DelayChannelName,
  type DelayClaimMessage,
  type DelayCompleteMessage,
  type DelaySkippedMessage,
  type DelayFetchMessage,
  type DelayMessage,
  type DelayScheduleMessage,
  type DelaySubscribers,
  type DelayTracingChannel,
} from './core/api/channels.js';
export type { DelayTelemetry, ObservedNode, TracedOperations } from './core/api/telemetry.js';
export {
  type DecoratorOf,
  type FitOf,
  type Misfit,
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
export {
  joinTransaction,
  joinTransactionHost,
  type ClsTransactionHost,
} from './core/module/join-transactions.js';
export { delayQueueMigrations, type MigrationClass } from './core/store/tables/migrations.js';
export { runMigrations } from './core/store/tables/migrations.js';
export type { WheelTimer } from './core/timer-wheel/volatile-timers.js';
export { WHEEL_CAPACITY, WheelService } from './core/timer-wheel/wheel.service.js';
