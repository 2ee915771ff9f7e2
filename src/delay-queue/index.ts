// `export *`, because only then does `declare module` merge into DelayPayloads.
export * from './delay/delay.js';
export * from './delay/storable.js';
export type * from './delay/contexts.js';
export type * from './delay/time/duration.js';
export type * from './delay/selection.js';
export type { AttemptOutcome, DelayAttempt } from './delay/attempts.js';
export type { DelayMove, MoveCall } from './delay/moves.js';
export type { DelayWait } from './delay/waits.js';
export type * from './delay/pause.js';
export type * from './delay/time/due.js';
export type * from './delay/time/repeat.js';
export type * from './delay/stats.js';
export type * from './delay/verdicts.js';
export * from './delay/delay.errors.js';
export { printable, printableError } from './delay/printable.js';
export { DiscardDelay, PostponeDelay } from './delay/thrown-by-handlers.js';
export {
  DelayQueueModule,
  type DelayQueueModuleAsyncOptions,
  type DelayQueueModuleExtras,
  type DelayQueueModuleOptions,
  type DelayQueueOptionsFactory,
} from './delay-queue.module.js';
export type { DataSourceChoice } from './database/chosen-data-source.js';
export type { DelayQueueOptions } from './options/delay-queue.options.js';
export { DelayAdmin } from './delay.admin.js';
export { DelayService } from './delay.service.js';
export { DelayWorker } from './delay.worker.js';
export {
  DelayEvents,
  type AttemptEndEvent,
  type AttemptEvent,
  type AttemptFailedEvent,
  type DeadEvent,
  type DelayEmitter,
  type DelayEventMap,
  type DelayListener,
} from './delay/delay.events.js';
export { OnDelayEvent, type EventMethod } from './handlers/on-delay-event.decorator.js';
export type { DecoratorOf, FitOf, Misfit } from './handlers/decorated-method.js';
export { OnDeadDelay, type DeadDelayHandler } from './handlers/on-dead-delay.decorator.js';
export {
  OnDelay,
  type BatchHandler,
  type OnDelayBatchOptions,
  type OnDelayOptions,
  type PlainHandler,
  type TransactionalBatchHandler,
  type TransactionalHandler,
} from './handlers/on-delay.decorator.js';
export type { LimitOptions } from './handlers/limits.js';
export { RepeatDelay, type RepeatDelayOptions } from './handlers/repeat-delay.decorator.js';
export type { BackoffFunction, BackoffOptions } from './options/backoff.js';
export type { DelayEnhancers } from './options/enhancers.js';
export { delayCallOf } from './handlers/invocation/delay-call-of.js';
export * from './handlers/invocation/enhancers.errors.js';
export type { DelayBatchRequest, DelayRequest } from './handlers/invocation/delay-request.js';
export type * from './payloads/payload-schema.js';
export type { PayloadCodec, PayloadOwner } from './payloads/payload-codec.js';
export * from './execution/call/around.error.js';
export * from './payloads/payload.errors.js';
export {
  joinTransactionHost,
  joinTypeormTransactional,
  type ClsTransactionHost,
  type TypeormTransactionalContext,
} from './join-transactions.js';
export { delayQueueMigrations, type MigrationClass } from './store/tables/migrations.js';
export { runMigrations } from './store/tables/run-migrations.js';
export type { WheelTimer } from './wheel/volatile-timers.js';
export { WHEEL_CAPACITY, WheelService } from './wheel/wheel.service.js';
