// `export *`, because only then does `declare module` merge into DelayPayloads.
export * from './delay.js';
export * from './delay.errors.js';
export { DelayQueueModule, type DelayQueueOptionsFactory } from './delay-queue.module.js';
export type { DelayQueueOptions } from './delay-queue.options.js';
export { DelayService } from './delay.service.js';
export { DelayEvents, type AttemptEvent, type DelayEventMap } from './delay.events.js';
export { OnDelay, type OnDelayBatchOptions, type OnDelayOptions } from './on-delay.decorator.js';
export type { BackoffFunction, BackoffOptions } from './handlers/backoff.js';
export type { DelayBatchRequest, DelayRequest } from './handlers/handler.explorer.js';
export { delayQueueMigrations, type MigrationClass } from './store/migrations.js';
export { runMigrations } from './store/run-migrations.js';
export { WHEEL_CAPACITY, WheelService, type WheelTimer } from './wheel/wheel.service.js';
