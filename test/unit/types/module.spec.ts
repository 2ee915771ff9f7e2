import { describe, expect, it } from '@jest/globals';
import type { DynamicModule } from '@nestjs/common';
import {
  type BackoffFunction,
  type BackoffOptions,
  type DataSourceChoice,
  DelayQueueModule,
  type DelayQueueModuleAsyncOptions,
  type DelayQueueModuleExtras,
  type DelayQueueModuleOptions,
  type DelayQueueOptions,
  type DelayQueueOptionsFactory,
  delayQueueMigrations,
  type MigrationClass,
  runMigrations,
  WHEEL_CAPACITY,
  type WheelService,
  type WheelTimer,
} from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import '../../support/delay-payloads.js';

class Configured implements DelayQueueOptionsFactory {
  createDelayQueueOptions(): DelayQueueOptions {
    return { lease: '1m' };
  }
}

/** `tsc` is the judge here, as in `handlers.spec.ts`. */
describe('types of DelayQueueModule', () => {
  it('forRoot takes the options, and where the module stands', () => {
    const right: DynamicModule[] = [
      DelayQueueModule.forRoot(),
      DelayQueueModule.forRoot({ concurrency: 5, isGlobal: false, dataSource: DataSource }),
    ];
    const options: DelayQueueModuleOptions = { timeout: '1m', dataSource: 'timers' };
    const wrong = [
      // @ts-expect-error -- a misspelt option
      () => DelayQueueModule.forRoot({ concurency: 5 }),
      // @ts-expect-error -- of another type
      () => DelayQueueModule.forRoot({ concurrency: '5' }),
      // @ts-expect-error -- what is found out at start has forRootAsync
      () => DelayQueueModule.forRoot(Promise.resolve({})),
    ];
    // @ts-expect-error -- a misspelt option
    const misspelt: DelayQueueModuleOptions = { isglobal: true };
    expect([...right, options, ...wrong, misspelt]).toHaveLength(7);
  });

  it('forRootAsync takes one way to make them', () => {
    const right: DelayQueueModuleAsyncOptions[] = [
      { useFactory: () => ({ lease: '1m' }), isGlobal: false },
      {
        inject: [Configured],
        useFactory: async (given: Configured) => given.createDelayQueueOptions(),
      },
      { useClass: Configured, dataSource: 'timers' },
      { useExisting: Configured },
    ];
    const made: DynamicModule = DelayQueueModule.forRootAsync({ useClass: Configured });
    const wrong = [
      // @ts-expect-error -- nothing makes them
      () => DelayQueueModule.forRootAsync(),
      // @ts-expect-error -- an option of another type
      () => DelayQueueModule.forRootAsync({ useFactory: () => ({ lease: true }) }),
      // @ts-expect-error -- it makes none
      () => DelayQueueModule.forRootAsync({ useClass: DelayQueueModule }),
    ];
    // @ts-expect-error -- they stand in what the factory answers
    const beside: DelayQueueModuleAsyncOptions = { useClass: Configured, lease: '1m' };
    // @ts-expect-error -- options, or a promise of them
    const factory: DelayQueueOptionsFactory = { createDelayQueueOptions: () => 'lease' };
    expect([...right, made, ...wrong, beside, factory]).toHaveLength(10);
  });
});

describe('types of the options', () => {
  it('have one type each', () => {
    const right: DelayQueueOptions[] = [
      { schema: 'timers', worker: 'manual', history: { keep: '7d', attempts: true } },
      { history: false, resolveManager: () => undefined },
    ];
    const wrong: DelayQueueOptions[] = [
      // @ts-expect-error -- no text
      { schema: 5 },
      // @ts-expect-error -- true, false or 'manual'
      { worker: 'false' },
      // @ts-expect-error -- for how long?
      { history: true },
      // @ts-expect-error -- what is out of its range is refused at start, another type here
      { connections: '3' },
      // @ts-expect-error -- a manager, or none
      { resolveManager: () => null },
    ];
    const backoff: BackoffOptions = { base: '1s', factor: 2, max: '5m', jitter: 1 };
    const byAttempt: BackoffFunction = (attempt) => attempt * 1_000;
    // @ts-expect-error -- a misspelt option
    const misspelt: BackoffOptions = { jiter: 1 };
    // @ts-expect-error -- at once, and no promise of it
    const later: BackoffFunction = async (attempt) => attempt;
    const choices: DataSourceChoice[] = ['timers', Symbol('timers'), DataSource];
    const extra: DelayQueueModuleExtras = { isGlobal: false, dataSource: 'timers' };
    // @ts-expect-error -- no token
    const choice: DataSourceChoice = 5;
    // @ts-expect-error -- of another type
    const extras: DelayQueueModuleExtras = { isGlobal: 'yes' };
    expect([...choices, choice, extra, extras]).toHaveLength(6);
    expect([...right, ...wrong, backoff, byAttempt, misspelt, later]).toHaveLength(11);
  });
});

describe('types of migrations and of the wheel', () => {
  it('migrations are classes, for a schema', () => {
    const right: MigrationClass[] = [
      ...delayQueueMigrations(),
      ...delayQueueMigrations({ schema: 'a' }),
    ];
    const calls = [
      (dataSource: DataSource): Promise<void> => runMigrations(dataSource),
      // @ts-expect-error -- its options do not do
      () => runMigrations({ type: 'postgres' }),
      // @ts-expect-error -- an object
      () => delayQueueMigrations('timers'),
    ];
    // @ts-expect-error -- a migration, and not its class
    const instance: MigrationClass = { up: async () => {}, down: async () => {} };
    expect([right.length > 0, calls.length, instance]).toBeDefined();
  });

  it('a timer is cancelled by what set it', () => {
    const calls = (wheel: WheelService) => {
      const timer: WheelTimer = wheel.after('30s', () => {});
      const was: boolean = wheel.cancel(timer);
      const nowMs: number = wheel.nowMs();
      // @ts-expect-error -- monotonic, and no instant
      wheel.nowMs().getTime();
      // @ts-expect-error -- nothing to do
      wheel.after('30s');
      // @ts-expect-error -- its number alone is no timer
      wheel.cancel(timer.id);
      // @ts-expect-error -- nobody changes it
      (timer satisfies WheelTimer).id = 5;
      return [was, nowMs];
    };
    // @ts-expect-error -- a token of its own
    const text: string = WHEEL_CAPACITY;
    expect([calls, text, { provide: WHEEL_CAPACITY, useValue: 10 }]).toHaveLength(3);
  });
});
