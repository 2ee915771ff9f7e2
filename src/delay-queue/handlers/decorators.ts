import type {
  DeadDelayContext,
  DelayAround,
  DelayBatchContext,
  DelayContext,
  TransactionalDelayBatchContext,
  TransactionalDelayContext,
} from '../api/contexts.js';
import type { Delay, DelayName, ParsedPayloadOf, PayloadOf } from '../api/delay.js';
import type { DelayEventMap } from '../api/events.js';
import type { Duration, RepeatOptions } from '../api/times.js';
import type { BackoffFunction, BackoffOptions } from '../config/backoff.js';
import type { DelayEnhancers } from '../config/options.js';
import type { PayloadSchema } from '../config/payloads.js';
import { type DecoratorOf, entriesAt, leaveAt } from './decorated-method.js';
import type { LimitOptions } from './handler.registry.js';

/**
 * Options of one handler; what is left out comes from the module's options.
 *
 * `Parsed` is what its schema makes of a payload; it matters to `payload` alone.
 */
export interface OnDelayOptions<Parsed = any> {
  /**
   * Attempts of this handler at a time on this node.
   * @default the module's
   * @range 1 to 10,000
   */
  concurrency?: number;
  /**
   * What all nodes together may begin of this name, exactly, also when nodes crash and come: `concurrency`, `rateLimit`.
   *
   * An attempt counts from its claim.
   *
   * @see docs/recipes/groups-limits-and-pauses.md
   */
  global?: LimitOptions;
  /** The same for each group of the name; delays without a group are not limited by it. */
  perGroup?: LimitOptions;
  /**
   * When `ctx.signal` aborts and the attempt counts as failed.
   * @default the module's
   * @range 1 ms to 24 d
   */
  timeout?: Duration;
  /**
   * Attempts before a delay becomes a dead letter; `schedule` may say otherwise.
   * @default the module's
   * @range 1 to 1,000
   */
  maxAttempts?: number;
  /**
   * The pause after a failed attempt: options, or a function of the attempt, counted from 1.
   * @default the module's
   */
  backoff?: BackoffOptions | BackoffFunction;
  /**
   * `true`: it runs in a transaction, `ctx.manager`, that commits with the removal of the delay: exactly once.
   *
   * The manager ends with the handler: await everything that is written through it. Its lease is not renewed but lasts
   * the whole `timeout`, which is therefore how long a crash can hold the delay back. `false`: at least once.
   *
   * @default false
   */
  transactional?: boolean;
  /**
   * Runs around each call of this handler, inside the module's. Of a list the first is outside.
   * @range up to 20
   * @see docs/api.md#around-a-call
   */
  around?: DelayAround | readonly DelayAround[];
  /**
   * Whose guards, interceptors, pipes and filters take part in its calls.
   * @default the module's
   * @range `'own'`, `'all'`, `false`
   * @see docs/api.md#guards-interceptors-pipes-filters
   */
  enhancers?: DelayEnhancers;
  /**
   * Schema of the payloads of this name: checked by `schedule` and before each call, which gets what it makes of them.
   *
   * Of Standard Schema v1. In place of the module's `payloads`, on nodes that have the handler.
   *
   * @default the module's
   * @see docs/api.md#payloads
   */
  payload?: PayloadSchema<Parsed>;
}

/** Options of a batch handler, which gets a list of delays instead of one. */
export interface OnDelayBatchOptions<Parsed = any> extends OnDelayOptions<Parsed> {
  /**
   * The method gets a list of up to that many delays that are due at the same time, however few.
   *
   * A batch that throws is done again, each delay alone; one that failed before comes alone, too.
   * `timeout` is for the whole call, and `concurrency` counts calls.
   *
   * @range 1 to 1,000
   * @see docs/api.md#batches
   */
  batch: number;
}

export type PlainHandler<N extends DelayName> = (
  delay: Delay<N>,
  ctx: DelayContext,
) => Promise<void> | void;

export type TransactionalHandler<N extends DelayName> = (
  delay: Delay<N>,
  ctx: TransactionalDelayContext,
) => Promise<void> | void;

export type BatchHandler<N extends DelayName> = (
  delays: Delay<N>[],
  ctx: DelayBatchContext,
) => Promise<void> | void;

export type TransactionalBatchHandler<N extends DelayName> = (
  delays: Delay<N>[],
  ctx: TransactionalDelayBatchContext,
) => Promise<void> | void;

/** What `@OnDelay` leaves behind for the explorer; the options are checked there. */
export interface OnDelayMetadata {
  name: unknown;
  options: unknown;
}

/** A text, because a dual build has two copies of this module, each with its own symbols. */
const ON_DELAY_METADATA = 'nestjs-delay-queue:on-delay';

/**
 * Makes a method of a provider or controller the handler of all delays of one name. A name has
 * one handler; a method may carry several names. Guards, interceptors, pipes and filters take part with `enhancers`.
 *
 * ```ts
 * @OnDelay('order.close', { transactional: true, concurrency: 20 })
 * async close(delay: Delay<'order.close'>, { manager }: TransactionalDelayContext): Promise<void> {
 *   await manager.update(Order, { id: delay.payload.orderId }, { status: 'CLOSED' });
 * }
 * ```
 *
 * A handler that throws is tried again after its backoff; see `DiscardDelay` and `PostponeDelay`.
 * Unusable options stop the start with a `DelayConfigError` that names class and method.
 */
export function OnDelay<N extends DelayName>(
  name: N,
  options: OnDelayBatchOptions<ParsedPayloadOf<N>> & { transactional: true },
): DecoratorOf<TransactionalBatchHandler<N>>;
export function OnDelay<N extends DelayName>(
  name: N,
  options: OnDelayBatchOptions<ParsedPayloadOf<N>> & { transactional?: false },
): DecoratorOf<BatchHandler<N>>;
export function OnDelay<N extends DelayName>(
  name: N,
  options: OnDelayOptions<ParsedPayloadOf<N>> & { transactional: true },
): DecoratorOf<TransactionalHandler<N>>;
export function OnDelay<N extends DelayName>(
  name: N,
  options?: OnDelayOptions<ParsedPayloadOf<N>> & { transactional?: false },
): DecoratorOf<PlainHandler<N>>;
export function OnDelay(name: unknown, options: unknown = {}): MethodDecorator {
  return (...at: unknown[]) =>
    leaveAt(at, '@OnDelay', ON_DELAY_METADATA, { name, options } satisfies OnDelayMetadata);
}

/** The `@OnDelay` entries of a method, in the order they are written; inherited ones count. */
export function onDelayMetadata(prototype: object, methodName: string): OnDelayMetadata[] {
  return entriesAt(ON_DELAY_METADATA, prototype, methodName);
}

const ON_DEAD_DELAY_METADATA = 'nestjs-delay-queue:on-dead-delay';

/** A method that runs when a delay becomes a dead letter. */
export type DeadDelayHandler<N extends DelayName> = (
  delay: Delay<N>,
  ctx: DeadDelayContext,
) => Promise<void> | void;

/**
 * Makes a method of a provider or controller run in the transaction in which a delay of that name becomes a dead letter:
 * what it writes through `ctx.manager` is committed together with that, once. A name has one, in an application
 * that has its `@OnDelay`, too; a method may carry several names.
 *
 * ```ts
 * @OnDeadDelay('invoice.print')
 * async gaveUp(delay: Delay<'invoice.print'>, { manager, error }: DeadDelayContext): Promise<void> {
 *   await manager.insert(Task, { what: `print invoice ${delay.payload.id} by hand`, why: error });
 * }
 * ```
 *
 * When it throws, or outlives the `timeout` of the handler, nothing of it is written, and the delay is no dead letter
 * yet: the method is called again after a pause. To be told of dead letters without a transaction take
 * `@OnDelayEvent('dead')`.
 */
export function OnDeadDelay<N extends DelayName>(name: N): DecoratorOf<DeadDelayHandler<N>>;
export function OnDeadDelay(name: unknown): MethodDecorator {
  return (...at: unknown[]) => leaveAt(at, '@OnDeadDelay', ON_DEAD_DELAY_METADATA, name);
}

/** The names of a method's `@OnDeadDelay`; inherited ones count. */
export function deadNamesOf(prototype: object, methodName: string): unknown[] {
  return entriesAt(ON_DEAD_DELAY_METADATA, prototype, methodName);
}

const ON_DELAY_EVENT_METADATA = 'nestjs-delay-queue:on-delay-event';

/** A method that hears of an event. */
export type EventMethod<K extends keyof DelayEventMap> = (
  ...args: DelayEventMap[K]
) => Promise<void> | void;

/**
 * Makes a method of a provider or controller hear of what happens on this node; a method may carry several events.
 *
 * ```ts
 * @OnDelayEvent('dead')
 * page({ name, key, error }: DelayEventMap['dead'][0]): Promise<void> {
 *   return this.pager.send(`${name} ${key}: ${error}`);
 * }
 * ```
 *
 * It is not awaited. What it throws is logged, and changes nothing. Not on request-scoped providers, which have no
 * instance when an event comes.
 */
export function OnDelayEvent<K extends keyof DelayEventMap>(event: K): DecoratorOf<EventMethod<K>> {
  return (...at: unknown[]) => leaveAt(at, '@OnDelayEvent', ON_DELAY_EVENT_METADATA, event);
}

/** The events of a method; inherited ones count. */
export function eventsOf(prototype: object, methodName: string): (keyof DelayEventMap)[] {
  return entriesAt(ON_DELAY_EVENT_METADATA, prototype, methodName);
}

const REPEAT_DELAY_METADATA = 'nestjs-delay-queue:repeat-delay';

/** What `@RepeatDelay` takes. */
export type RepeatDelayOptions<N extends DelayName = DelayName> = RepeatOptions & {
  /**
   * Of its delay; several of one name need one each.
   * @default 'repeat'
   */
  key?: string;
} & (unknown extends PayloadOf<N>
    ? {
        /**
         * What its handler gets; must be given where `DelayPayloads` declares the name.
         * @default null
         */
        payload?: unknown;
      }
    : {
        /** What its handler gets. */
        payload: PayloadOf<N>;
      });

/** What `@RepeatDelay` leaves behind for the explorer, which checks it. */
interface RepeatDelayMetadata {
  name: unknown;
  options: unknown;
}

/**
 * Makes a delay of that name recur, on any number of nodes as one row. It stands beside the `@OnDelay` of that name; a
 * method may carry several, with different keys.
 *
 * ```ts
 * @RepeatDelay('report.daily', { cron: '0 3 * * *', timeZone: 'Europe/Berlin', payload: { region: 'eu' } })
 * @OnDelay('report.daily', { transactional: true })
 * async write(delay: Delay<'report.daily'>, ctx: TransactionalDelayContext): Promise<void> {}
 * ```
 *
 * What is not acceptable stops the start with a `DelayConfigError` that names class, method and option.
 */
export function RepeatDelay<N extends DelayName>(
  name: N,
  options: RepeatDelayOptions<N>,
): MethodDecorator {
  return (...at: unknown[]) =>
    leaveAt(at, '@RepeatDelay', REPEAT_DELAY_METADATA, {
      name,
      options,
    } satisfies RepeatDelayMetadata);
}

/** The `@RepeatDelay` entries of a method, in the order they are written; inherited ones count. */
export function repeatDelayMetadata(prototype: object, methodName: string): RepeatDelayMetadata[] {
  return entriesAt(REPEAT_DELAY_METADATA, prototype, methodName);
}
