// `export *`: only then does `declare module` merge into DelayPayloads.
export {
  type NotStorable,
  type Storable,
  type PlainJson,
  type StorableParts,
  type StorableMembers,
  type ParsedPayloads,
  type DelayPayloads,
  type DelayName,
  type PayloadOf,
  type ParsedPayloadOf,
  type StorablePayloads,
  type GivenPayload,
  type OnConflict,
  type ScheduleOptions,
  type DelayHeaders,
  type InTransaction,
  type ChangeOptions,
  type ScheduleItem,
  type RescheduleTo,
  type Delay,
  type LiveState,
  type EndState,
  type DelayInfo,
  type ListedDelay,
  type DelayRecord,
} from './api/delay.js';
export type {
  DelayContext,
  TransactionalDelayContext,
  DeadDelayContext,
  DelayBatchContext,
  TransactionalDelayBatchContext,
  DelayCall,
  AroundFunction,
  DelayAround,
} from './api/delay.js';
export type {
  Duration,
  DurationText,
  DurationUnit,
  RepeatEnd,
  RepeatInterval,
  RepeatOptions,
  RepeatRule,
  CatchUp,
  DelayRepeat,
  When,
  Recurring,
  Due,
} from './api/delay.js';
export type * from './api/selection.js';
export type { AttemptOutcome, DelayAttempt } from './api/delay.js';
export type { DelayMove, MoveCall } from './api/delay.js';
export type { DelayWait } from './api/delay.js';
export type * from './api/explanation.js';
export type {
  CancelOptions,
  ScheduleResult,
  CancelResult,
  RescheduleResult,
  RetryDeadResult,
  DiscardDeadResult,
  RunNowResult,
} from './api/delay.js';
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
} from './api/errors.js';
export { printable, printableError } from './api/error-text.js';
export { DiscardDelay, PostponeDelay } from './api/errors.js';
export {
  DelayQueueModule,
  type DelayQueueModuleAsyncOptions,
  type DelayQueueModuleExtras,
  type DelayQueueModuleOptions,
  type DelayQueueOptionsFactory,
} from './delay-queue.module.js';
export type { DataSourceChoice } from './database/chosen-data-source.js';
export type { DelayHistoryOptions, DelayQueueOptions } from './config/options.js';
export { DelayAdmin } from './delay.admin.js';
export { DelayHealth } from './delay.health.js';
export type * from './api/health.js';
export { DelayService } from './delay.service.js';
export { DelayWorker } from './delay.worker.js';
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
} from './api/events.js';
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
} from './api/channels.js';
export type { DelayTelemetry, ObservedNode, TracedOperations } from './api/telemetry.js';
export { OnDelayEvent, type EventMethod } from './handlers/decorators.js';
export type { DecoratorOf, FitOf, Misfit } from './handlers/decorators.js';
export { OnDeadDelay, type DeadDelayHandler } from './handlers/decorators.js';
export {
  OnDelay,
  type BatchHandler,
  type OnDelayBatchOptions,
  type OnDelayOptions,
  type PlainHandler,
  type TransactionalBatchHandler,
  type TransactionalHandler,
} from './handlers/decorators.js';
export type { LimitOptions } from './handlers/handler-limits.js';
export { RepeatDelay, type RepeatDelayOptions } from './handlers/decorators.js';
export type { BackoffFunction, BackoffOptions } from './config/backoff.js';
export type { DelayEnhancers } from './config/options.js';
export { delayCallOf } from './handlers/delay-request.js';
export { DelayGuardError, DelayInterceptorError } from './api/errors.js';
export type { DelayBatchRequest, DelayRequest } from './handlers/delay-request.js';
export type { PayloadSchema, SchemaResult, SchemaIssue } from './config/payload-schemas.js';
export type { PayloadCodec, PayloadOwner } from './config/payload-codec.js';
export { DelayAroundError } from './api/errors.js';
export { type PayloadIssue, DelayPayloadError, DelayCodecError } from './api/errors.js';
export {
  joinTransaction,
  joinTransactionHost,
  type ClsTransactionHost,
} from './join-transactions.js';
export { delayQueueMigrations, type MigrationClass } from './store/tables/migrations.js';
export { runMigrations } from './store/tables/migrations.js';
export type { WheelTimer } from './timer-wheel/wheel.service.js';
export { WHEEL_CAPACITY, WheelService } from './timer-wheel/wheel.service.js';
