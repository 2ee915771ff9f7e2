import 'reflect-metadata';
import { isAsyncFunction, isGeneratorFunction } from 'node:util/types';
import type {
  DeadDelayContext,
  Delay,
  DelayAround,
  DelayBatchContext,
  DelayContext,
  DelayName,
  Duration,
  OwnTransactionDelayContext,
  ParsedPayloadOf,
  PayloadOf,
  RepeatRule,
  TransactionalDelayBatchContext,
  TransactionalDelayContext,
} from '../api/delay.js';
import { DelayConfigError } from '../api/errors.js';
import type { DelayEventMap } from '../api/events.js';
import type {
  BackoffFunction,
  BackoffOptions,
  DelayEnhancers,
  PayloadSchema,
} from '../api/options.js';
import type { LimitOptions } from './handler-limits.js';

/**
 * Options of one handler. Omitted ones come from the module's options.
 *
 * `Parsed` is the schema's result for a payload; only `payload` uses it.
 */
export interface OnDelayOptions<Parsed = any> {
  /**
   * Attempts of this handler at a time on this node.
   * @default the module's
   * @range 1 to 10,000
   */
  concurrency?: number;
  /**
   * Exact limits of this name over all nodes, even when nodes crash or join: `concurrency`,
   * `rateLimit`.
   *
   * An attempt counts from its claim.
   * @see docs/recipes/groups-limits-and-pauses.md
   */
  global?: LimitOptions;
  /** The same limits for each group of the name. Delays without a group are not limited by them. */
  perGroup?: LimitOptions;
  /**
   * When `ctx.signal` aborts and the attempt counts as failed.
   * @default the module's
   * @range 1 ms to 24 d
   */
  timeout?: Duration;
  /**
   * Attempts before a delay becomes a dead letter; `schedule` can override it.
   * @default the module's
   * @range 1 to 1,000
   */
  maxAttempts?: number;
  /**
   * Pause after a failed attempt: options, or a function of the attempt number, from 1.
   * @default the module's
   */
  backoff?: BackoffOptions | BackoffFunction;
  /**
   * `true`: runs in a transaction, `ctx.manager`, that commits together with the removal of the
   * delay: exactly once.
   *
   * The manager ends with the handler: await all that you write through it. The lease is not
   * renewed but covers the whole `timeout`, so a crash can hold the delay back for that long.
   * `'own'`: the handler removes the delay by `await ctx.complete(tx)` in a transaction of its own
   * library: exactly once as well. Returning without it fails the attempt.
   *
   * `false`: at least once.
   * @default false
   * @range `true`, `false`, `'own'`
   */
  transactional?: boolean | 'own';
  /**
   * Middleware around each call of this handler, inside the module's; of a list, the first is
   * outermost.
   * @range up to 20
   * @see docs/api.md#around-a-call
   */
  around?: DelayAround | readonly DelayAround[];
  /**
   * Which guards, interceptors, pipes and filters apply to its calls.
   * @default the module's
   * @range `'own'`, `'all'`, `false`
   * @see docs/api.md#guards-interceptors-pipes-filters
   */
  enhancers?: DelayEnhancers;
  /**
   * Schema of this name's payloads: `schedule` checks them, the handler receives its result.
   *
   * A Standard Schema v1. Replaces the module's `payloads` on nodes with this handler.
   * @default the module's
   * @see docs/api.md#payloads
   */
  payload?: PayloadSchema<Parsed>;
  /**
   * The queue that it serves, or a list, as in `forRoot({ queue })`.
   * @default 'default'
   * @range 1 to 48 letters, digits and ._-; up to 1,000 of them
   * @see docs/api.md#several-queues
   */
  queue?: string | readonly string[];
}

/** Which queues a method serves that is no handler; see `queue` of {@link OnDelayOptions}. */
export type QueueChoice = Pick<OnDelayOptions, 'queue'>;

/** Options of a batch handler, which receives a list of delays. */
export interface OnDelayBatchOptions<Parsed = any> extends OnDelayOptions<Parsed> {
  /**
   * The method receives a list: up to this many delays that are due at the same time, however few.
   *
   * If a batch throws, each of its delays runs again alone. A delay that failed before runs alone.
   * `timeout` covers the whole call, and `concurrency` counts calls.
   * @range 1 to 1,000
   * @see docs/api.md#batches
   */
  batch: number;
}

/** A method as its decorator has it called. */
export type DelayMethod<Given extends unknown[]> = (...given: Given) => Promise<void> | void;

/**
 * Where a decorator leaves its entries. Texts, because a dual build has two copies of this module, each
 * with its own symbols.
 */
const METADATA = {
  '@OnDelay': 'nestjs-delay-queue:on-delay',
  '@OnDeadDelay': 'nestjs-delay-queue:on-dead-delay',
  '@OnDelayEvent': 'nestjs-delay-queue:on-delay-event',
  '@RepeatDelay': 'nestjs-delay-queue:repeat-delay',
};

/** Names of the decorated methods of a class, with their decorator. */
const DECORATED_METADATA = 'nestjs-delay-queue:decorated';

/** What a decorator stores for the explorer, which checks it. */
export interface DecoratorEntries {
  '@OnDelay': { name: unknown; options: unknown };
  '@OnDeadDelay': { name: unknown; options: unknown };
  '@OnDelayEvent': { event: keyof DelayEventMap; options: unknown };
  '@RepeatDelay': { name: unknown; options: unknown };
}

/**
 * Makes a method of a provider or controller the handler of a name. A name has one handler; a
 * method may handle several names. Guards, interceptors, pipes and filters apply with `enhancers`.
 *
 * ```ts
 * @OnDelay('order.close', { transactional: true, concurrency: 20 })
 * async close(delay: Delay<'order.close'>, { manager }: TransactionalDelayContext): Promise<void> {
 *   await manager.update(Order, { id: delay.payload.orderId }, { status: 'CLOSED' });
 * }
 * ```
 *
 * When the handler throws, the attempt fails and is retried after its backoff; see `DiscardDelay`
 * and `PostponeDelay`. Invalid options stop the start with a `DelayConfigError` that names class
 * and method.
 */
export function OnDelay<N extends DelayName>(
  name: N,
  options: OnDelayBatchOptions<ParsedPayloadOf<N>> & { transactional: true },
): DecoratorOf<DelayMethod<[delays: Delay<N>[], ctx: TransactionalDelayBatchContext]>>;
export function OnDelay<N extends DelayName>(
  name: N,
  options: OnDelayBatchOptions<ParsedPayloadOf<N>> & { transactional?: false },
): DecoratorOf<DelayMethod<[delays: Delay<N>[], ctx: DelayBatchContext]>>;
export function OnDelay<N extends DelayName>(
  name: N,
  options: OnDelayOptions<ParsedPayloadOf<N>> & { transactional: true },
): DecoratorOf<DelayMethod<[delay: Delay<N>, ctx: TransactionalDelayContext]>>;
export function OnDelay<N extends DelayName>(
  name: N,
  options: OnDelayOptions<ParsedPayloadOf<N>> & { transactional: 'own' },
): DecoratorOf<DelayMethod<[delay: Delay<N>, ctx: OwnTransactionDelayContext]>>;
export function OnDelay<N extends DelayName>(
  name: N,
  options?: OnDelayOptions<ParsedPayloadOf<N>> & { transactional?: false },
): DecoratorOf<DelayMethod<[delay: Delay<N>, ctx: DelayContext]>>;
export function OnDelay(name: unknown, options: unknown = {}): MethodDecorator {
  return entryOf('@OnDelay', { name, options });
}

/**
 * Runs a method of a provider or controller in the transaction that makes a delay of that name a
 * dead letter. What it writes through `ctx.manager` commits with the dead letter, once. A name has
 * one such method, in an application with its `@OnDelay`; a method may serve several names.
 *
 * ```ts
 * @OnDeadDelay('invoice.print')
 * async gaveUp(delay: Delay<'invoice.print'>, { manager, error }: DeadDelayContext): Promise<void> {
 *   await manager.insert(Task, { what: `print invoice ${delay.payload.id} by hand`, why: error });
 * }
 * ```
 *
 * If it throws, or exceeds the handler's `timeout`, nothing is written and the delay is not yet a
 * dead letter: the method is called again after a pause. For a notification without a transaction,
 * use `@OnDelayEvent('dead')`.
 */
export function OnDeadDelay<N extends DelayName>(
  name: N,
  options: QueueChoice = {},
): DecoratorOf<DelayMethod<[delay: Delay<N>, ctx: DeadDelayContext]>> {
  return entryOf('@OnDeadDelay', { name, options });
}

/**
 * Makes a method of a provider or controller listen to an event of this node. A method may listen
 * to several events.
 *
 * ```ts
 * @OnDelayEvent('dead')
 * page({ name, key, error }: DelayEventMap['dead'][0]): Promise<void> {
 *   return this.pager.send(`${name} ${key}: ${error}`);
 * }
 * ```
 *
 * It is not awaited; what it throws is logged and has no effect. Not for request-scoped providers,
 * which have no instance when an event occurs.
 */
export function OnDelayEvent<K extends keyof DelayEventMap>(
  event: K,
  options: QueueChoice = {},
): DecoratorOf<DelayMethod<DelayEventMap[K]>> {
  return entryOf('@OnDelayEvent', { event, options });
}

/** Options of `@RepeatDelay`. */
export type RepeatDelayOptions<N extends DelayName = DelayName> = RepeatRule & {
  /**
   * Key of the delay. Several `@RepeatDelay` of one name need different keys.
   * @default 'repeat'
   */
  key?: string;
} & (unknown extends PayloadOf<N>
    ? {
        /**
         * Payload for the handler. Required if `DelayPayloads` declares the name.
         * @default null
         */
        payload?: unknown;
      }
    : {
        /** Payload for the handler. */
        payload: PayloadOf<N>;
      });

/**
 * Makes a delay of that name recur: one row, whatever the number of nodes. It goes on the method
 * with the `@OnDelay` of that name, several times if the keys differ, and recurs in each of its queues.
 *
 * ```ts
 * @RepeatDelay('report.daily', { cron: '0 3 * * *', timeZone: 'Europe/Berlin', payload: { region: 'eu' } })
 * @OnDelay('report.daily', { transactional: true })
 * async write(delay: Delay<'report.daily'>, ctx: TransactionalDelayContext): Promise<void> {}
 * ```
 *
 * Invalid options stop the start with a `DelayConfigError` that names class, method and option.
 */
export function RepeatDelay<N extends DelayName>(
  name: N,
  options: RepeatDelayOptions<N>,
): MethodDecorator {
  return entryOf('@RepeatDelay', { name, options });
}

/** The compiler's message for a method that cannot be called the way its decorator calls it. */
export interface Misfit<Method> {
  readonly 'this method cannot be called with what it would get': Method;
}

/**
 * Whether a method can be called like `Method`. Parameters are compared as a list: without
 * `strictFunctionTypes`, the default of `nest new`, functions compare in either direction, and a
 * handler could ask for parameters that it does not receive.
 */
export type FitOf<T, Method> = 0 extends 1 & T
  ? unknown
  : T extends (...given: infer Given) => infer Returned
    ? Method extends (...given: infer Gets) => infer Awaits
      ? [Gets, Returned] extends [[...Given, ...any[]], Awaits]
        ? unknown
        : Misfit<Method>
      : never
    : Misfit<Method>;

/** A method decorator that compiles only on a method that can be called like `Method`. */
export interface DecoratorOf<Method> {
  /** For `applyDecorators`, which requires a decorator of anything. Refused on a class. */
  (target: Function): void;
  <T>(
    target: object,
    methodName: string | symbol,
    descriptor: TypedPropertyDescriptor<T> & FitOf<T, Method>,
  ): void;
}

/**
 * A decorator that stores its entry on the class and not on the function: a decorator above that wraps
 * the function would lose it silently.
 * @throws DelayConfigError for anything but an ordinary method: it would never be found
 */
function entryOf<Decorator extends keyof DecoratorEntries>(
  decorator: Decorator,
  entry: DecoratorEntries[Decorator],
): (...at: unknown[]) => void {
  return (target, methodName, descriptor) => {
    const { prototype, method } = decoratedMethod(target, methodName, descriptor, decorator);
    const key = METADATA[decorator];
    // DecoratorEntries of an overridden method do not count.
    const entries = Reflect.getOwnMetadata(key, prototype, method) ?? [];
    Reflect.defineMetadata(key, [entry, ...entries], prototype, method);
    const all = new Map([...decoratedIn(prototype), [method, decorator]]);
    Reflect.defineMetadata(DECORATED_METADATA, all, prototype);
  };
}

/** What that decorator stored for a method, in source order, inherited entries included. */
export const entriesAt = <Decorator extends keyof DecoratorEntries>(
  decorator: Decorator,
  prototype: object,
  methodName: string,
): DecoratorEntries[Decorator][] =>
  Reflect.getMetadata(METADATA[decorator], prototype, methodName) ?? [];

const decoratedIn = (prototype: object): ReadonlyMap<string, string> =>
  Reflect.getOwnMetadata(DECORATED_METADATA, prototype) ?? new Map();

/** Refuses a decorated method that was replaced by something else. @param place its class, for the message */
export function checkDecorated(prototype: object, place: string): void {
  for (let of: object | null = prototype; of !== null; of = Object.getPrototypeOf(of)) {
    for (const [methodName, decorator] of decoratedIn(of)) {
      const what = otherThanMethod(findProperty(prototype, methodName));
      if (what === undefined) continue;
      throw new DelayConfigError(
        `${place}.${methodName}: ${decorator} is on a method that has become ${what}, through a subclass or another ` +
          'decorator; it would never be called',
      );
    }
  }
}

function findProperty(prototype: object, name: string): PropertyDescriptor | undefined {
  for (let of: object | null = prototype; of !== null; of = Object.getPrototypeOf(of)) {
    const found = Object.getOwnPropertyDescriptor(of, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function decoratedMethod(
  target: unknown,
  methodName: unknown,
  descriptor: unknown,
  decorator: string,
): { prototype: object; method: string } {
  const refuse = (name: unknown, what: string): never => {
    const at = typeof target === 'object' ? target?.constructor?.name : undefined;
    const place = at === undefined ? String(name) : `${at}.${String(name)}`;
    throw new DelayConfigError(
      `${place}: ${decorator} belongs on an ordinary method, not on ${what}, which would never be called`,
    );
  };
  if (isStandardContext(methodName)) {
    throw new DelayConfigError(
      `${String(methodName.name)}: ${decorator} was compiled as a standard decorator, and Nest needs ` +
        'legacy ones: set "experimentalDecorators": true and "emitDecoratorMetadata": true in the ' +
        'compilerOptions of the tsconfig.json that compiles this file (of swc: legacyDecorator, ' +
        'decoratorMetadata)',
    );
  }
  if (typeof target === 'function' && methodName === undefined)
    return refuse(target.name, 'a class');
  if (typeof target !== 'object' || target === null) return refuse(methodName, 'a static method');
  if (typeof methodName !== 'string') return refuse(methodName, 'a method named by a symbol');
  if (typeof descriptor === 'number') return refuse(methodName, 'a parameter');
  const given = descriptor ?? Object.getOwnPropertyDescriptor(target, methodName);
  const what = otherThanMethod(given);
  return what === undefined ? { prototype: target, method: methodName } : refuse(methodName, what);
}

/** Undefined: it is a method. */
function otherThanMethod(descriptor: PropertyDescriptor | undefined): string | undefined {
  if (descriptor === undefined) return 'a property';
  const { get, set, value } = descriptor as { get?: unknown; set?: unknown; value?: unknown };
  if (get !== undefined || set !== undefined) return 'a getter or setter';
  if (typeof value !== 'function') return 'a property';
  return isGeneratorFunction(value)
    ? `a${isAsyncFunction(value) ? 'n async' : ''} generator`
    : undefined;
}

/** Standard decorators receive the method itself, and a context that describes it. */
function isStandardContext(context: unknown): context is { name: unknown } {
  return typeof context === 'object' && context !== null && 'kind' in context && 'name' in context;
}
