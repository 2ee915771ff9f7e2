// `export *`, because only then does `declare module` merge into DelayPayloads.
export * from './delay.js';
export * from './delay.errors.js';
export {
  DelayQueueModule,
  type DelayQueueModuleAsyncOptions,
  type DelayQueueModuleExtras,
  type DelayQueueModuleOptions,
  type DelayQueueOptionsFactory,
} from './delay-queue.module.js';
export type { DataSourceChoice } from './chosen-data-source.js';
export type { DelayQueueOptions } from './delay-queue.options.js';
export { DelayService } from './delay.service.js';
export { DelayEvents, type AttemptEvent, type DelayEventMap } from './delay.events.js';
export {
  OnDelay,
  type BatchHandler,
  type DecoratorOf,
  type OnDelayBatchOptions,
  type OnDelayOptions,
  type PlainHandler,
  type TransactionalBatchHandler,
  type TransactionalHandler,
} from './on-delay.decorator.js';
export type { BackoffFunction, BackoffOptions } from './handlers/backoff.js';
export type { DelayBatchRequest, DelayRequest } from './handlers/delay-request.js';
export type * from './storable.js';
export { delayQueueMigrations, type MigrationClass } from './store/migrations.js';
export { runMigrations } from './store/run-migrations.js';
export { WHEEL_CAPACITY, WheelService, type WheelTimer } from './wheel/wheel.service.js';
