import { Inject, Injectable, Optional } from '@nestjs/common';
import {
  type ContextId,
  ContextIdFactory,
  DiscoveryService,
  MetadataScanner,
  ModuleRef,
} from '@nestjs/core';
import { adopted, ignoreRejection } from '../api/adopted.js';
import type { DeadDelayContext, Delay, DelayContext } from '../api/delay.js';
import { describeError } from '../api/error-text.js';
import { DelayConfigError, DelayInvalidError } from '../api/errors.js';
import { type DelayEventMap, DelayEvents } from '../api/events.js';
import {
  type BackoffFunction,
  backoffMs,
  type BackoffPolicy,
  type ExponentialBackoff,
  functionPolicy,
  parseBackoff,
} from '../config/backoff.js';
import { atStart, checkKnownOptions, isClass, shown } from '../config/known-options.js';
import { checkMaxAttempts, checkName } from '../config/schedule-options.js';
import {
  type DelayEnhancers,
  parseAround,
  parseEnhancers,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from '../config/options.js';
import { checkConcurrency, parseTimeoutMs } from '../config/resolve-options.js';
import {
  checkDecorated,
  deadNamesOf,
  eventsOf,
  type OnDelayBatchOptions,
  type OnDelayMetadata,
  onDelayMetadata,
  repeatDelayMetadata,
} from './decorators.js';
import type { DelayBatchRequest, DelayRequest } from './delay-request.js';
import {
  type EnhancedMethod,
  type FoundMethod,
  type InstanceWrapper,
  isStatic,
  NestEnhancers,
} from './enhancers.js';
import {
  declarationOf,
  type Handler,
  HandlerRegistry,
  limitsOf,
  WAITS_MAX_MS,
} from './handler.registry.js';

type Invoke = (work: Delay | Delay[], ctx: DelayContext | DeadDelayContext) => unknown;

/** Makes the functions that call handler methods. */
@Injectable()
export class Invoker {
  constructor(
    @Optional() private readonly moduleRef: ModuleRef,
    private readonly nest: NestEnhancers,
  ) {}

  /**
   * A request-scoped or transient provider gets a new instance per attempt; any other has the
   * single instance that discovery found.
   * @param enhancers which guards, interceptors, pipes and filters apply
   * @throws DelayConfigError for an enhancer that Nest would skip or cannot run
   */
  of(found: FoundMethod, enhancers: DelayEnhancers): Invoke {
    const { wrapper, instance } = found;
    if (isStatic(wrapper) && !this.nest.areScoped(enhancers)) {
      return invokeOf(found, instance, this.nest.of(found, enhancers));
    }
    // For its refusals; a factory's class is known only in the call.
    this.nest.apply(found, enhancers);
    return async (work, ctx) => {
      const contextId = this.contextOf(requestOf(work, ctx));
      const target = isStatic(wrapper) ? instance : await this.resolve(wrapper, contextId);
      const made = { ...found, instance: target };
      const enhanced = await this.nest.ofRequest(made, enhancers, contextId);
      return invokeOf(found, target, enhanced)(work, ctx);
    };
  }

  private contextOf(request: object): ContextId {
    const contextId = ContextIdFactory.getByRequest(request);
    this.moduleRef.registerRequestByContextId(request, contextId);
    return contextId;
  }

  /** In its own module: another module may provide another class for the same token. */
  private resolve({ token, host }: InstanceWrapper, contextId: ContextId): Promise<object> {
    const ofHost = host?.providers.get(ModuleRef)?.instance as ModuleRef | undefined;
    if (ofHost !== undefined) return ofHost.resolve<object>(token, contextId, { strict: true });
    return this.moduleRef.resolve<object>(token, contextId, { strict: false });
  }
}

function invokeOf(
  { methodName }: FoundMethod,
  target: object,
  enhanced: EnhancedMethod | undefined,
): Invoke {
  // Looked up on each call, so that a spy or patch of the method takes effect.
  const call: Invoke = (work, ctx) => Reflect.get(target, methodName).call(target, work, ctx);
  if (enhanced === undefined) return call;
  return (work, ctx) => enhanced.call([work, ctx], (piped) => call(piped, ctx));
}

const requestOf = (work: Delay | Delay[], ctx: DelayContext): DelayRequest | DelayBatchRequest =>
  Array.isArray(work) ? { delays: work, ctx } : { delay: work, ctx };

/** The part of a {@link Handler} that comes from `@OnDelay` and the module's options. */
type HandlerSettings = Pick<
  Handler,
  | 'name'
  | 'transactional'
  | 'concurrency'
  | 'limits'
  | 'batch'
  | 'timeoutMs'
  | 'leaseMs'
  | 'maxAttempts'
  | 'backoffMs'
  | 'around'
  | 'readPayload'
> & { enhancers: DelayEnhancers };

/** Delays per call: one statement carries them each way, and memory holds their payloads. */
const BATCH_MAX = 1_000;

const ON_DELAY_OPTIONS = Object.keys({
  concurrency: true,
  global: true,
  perGroup: true,
  timeout: true,
  maxAttempts: true,
  backoff: true,
  transactional: true,
  batch: true,
  around: true,
  enhancers: true,
  payload: true,
} satisfies Record<keyof OnDelayBatchOptions, true>);

/**
 * @param location of the `@OnDelay`, for the message
 * @param onBackoffFault receives the failure of a backoff function, or of its result
 * @throws DelayConfigError naming the location and the option
 */
export function handlerSettings(
  { name, options }: OnDelayMetadata,
  location: string,
  defaults: ResolvedOptions,
  onBackoffFault: (error: unknown) => void,
): HandlerSettings {
  return atStart(location, () => {
    const given = checkKnownOptions(options, 'options', ON_DELAY_OPTIONS);
    const { concurrency, timeout, maxAttempts, backoff, transactional, batch } = given;
    const { global: all, perGroup, around, enhancers, payload } = given;
    if (payload !== undefined) defaults.payloads.expect(checkName(name), payload, 'payload');
    const isTransactional = checkTransactional(transactional);
    const timeoutMs = timeout === undefined ? defaults.timeoutMs : parseTimeoutMs(timeout);
    return {
      name: checkName(name),
      transactional: isTransactional,
      concurrency: concurrency === undefined ? defaults.concurrency : checkConcurrency(concurrency),
      limits: limitsOf(all, perGroup),
      batch: batch === undefined ? null : checkBatch(batch),
      timeoutMs,
      // A fenced attempt is not renewed: the first lease must last, for a call that waits as well.
      leaseMs: isTransactional
        ? Math.max(timeoutMs + 2 * WAITS_MAX_MS, defaults.leaseMs)
        : defaults.leaseMs,
      maxAttempts: maxAttempts === undefined ? defaults.maxAttempts : checkMaxAttempts(maxAttempts),
      backoffMs: backoffPolicy(backoff, defaults.backoff, onBackoffFault),
      readPayload: defaults.payloads.readerOf(checkName(name)),
      around: around === undefined ? defaults.around : [...defaults.around, ...parseAround(around)],
      enhancers: enhancers === undefined ? defaults.enhancers : parseEnhancers(enhancers),
    };
  });
}

function backoffPolicy(
  backoff: unknown,
  defaults: ExponentialBackoff,
  onFault: (error: unknown) => void,
): BackoffPolicy {
  if (isBackoffFunction(backoff)) {
    return functionPolicy(backoff, (attempt) => backoffMs(defaults, attempt), onFault);
  }
  const own = backoff === undefined ? defaults : parseBackoff(backoff, defaults);
  return (attempt) => backoffMs(own, attempt);
}

/** Its result is checked on each call. */
function isBackoffFunction(backoff: unknown): backoff is BackoffFunction {
  return typeof backoff === 'function' && !isClass(backoff);
}

function checkTransactional(value: unknown = false): boolean {
  if (typeof value === 'boolean') return value;
  throw new DelayInvalidError('transactional', `must be true or false, not ${shown(value)}`);
}

function checkBatch(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= BATCH_MAX) {
    return value as number;
  }
  throw new DelayInvalidError(
    'batch',
    `must be a whole number from 1 to ${BATCH_MAX}, not ${shown(value)}`,
  );
}

/** Runs when all handlers are known. */
type Later = () => void | Promise<void>;

/** Finds methods with one of this library's decorators in all providers and controllers. */
@Injectable()
export class HandlerExplorer {
  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly invoker: Invoker,
    private readonly registry: HandlerRegistry,
    private readonly events: DelayEvents,
  ) {}

  /**
   * Fills the registry. Call it once, in `onModuleInit`, when all instances exist.
   * @throws DelayConfigError for invalid options or two handlers of one name; codec and schema
   * errors
   */
  async explore(): Promise<void> {
    const seen = new Set<object>();
    const later: Later[] = [];
    for (const wrapper of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      const instance: unknown = wrapper.isAlias ? undefined : instanceOf(wrapper);
      // One instance under several tokens is one handler.
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      this.exploreInstance(wrapper, instance, later);
    }
    for (const add of later) await add();
  }

  /** @param later collects work that needs all handlers, or takes time */
  private exploreInstance(wrapper: InstanceWrapper, instance: object, later: Later[]): void {
    const prototype: unknown = Object.getPrototypeOf(instance);
    if (typeof prototype !== 'object' || prototype === null) return;
    const className = prototype.constructor?.name ?? String(wrapper.name);
    checkDecorated(prototype, className);
    for (const methodName of this.scanner.getAllMethodNames(prototype)) {
      const location = `${className}.${methodName}`;
      const backoffFails = this.onceAdvised(
        (error) => `${location}: its backoff fails, so the module's is used: ${error}`,
      );
      const found: FoundMethod = { wrapper, instance, methodName, place: location };
      for (const metadata of onDelayMetadata(prototype, methodName)) {
        const settings = handlerSettings(metadata, location, this.options, backoffFails);
        this.registry.add({
          ...settings,
          location: wrapper.host ? `${location} (${wrapper.host.name})` : location,
          invoke: this.invoker.of(found, settings.enhancers),
        });
      }
      for (const name of deadNamesOf(prototype, methodName)) {
        // A refusing guard would postpone the dead letter forever.
        const invoke = this.invoker.of(found, false);
        later.push(() => {
          const checked = atStart(location, () => checkName(name));
          const readPayload = this.options.payloads.lenientReaderOf(checked);
          this.registry.addOnDead(checked, { location, readPayload, invoke });
        });
      }
      this.declare(prototype, methodName, location, later);
      for (const event of eventsOf(prototype, methodName)) {
        if (!isStatic(wrapper)) throw new DelayConfigError(`${location}: ${NO_INSTANCE}`);
        this.listen(event, instance, methodName, location);
      }
    }
  }

  /** Synchronous refusals come in source order. */
  private declare(prototype: object, methodName: string, location: string, later: Later[]): void {
    const handled = onDelayMetadata(prototype, methodName).map(({ name }) => name);
    for (const { name, options } of repeatDelayMetadata(prototype, methodName)) {
      const { payloads } = this.options;
      const declaration = atStart(location, () => declarationOf(name, options, payloads));
      if (!handled.includes(name)) {
        throw new DelayConfigError(
          `${location}: @RepeatDelay('${String(name)}') needs an @OnDelay of that name on the same method`,
        );
      }
      if (!(declaration instanceof Promise)) {
        this.registry.declare(declaration, location);
        continue;
      }
      // A rejection before it is awaited must fail the start, not end the process.
      void ignoreRejection(declaration);
      later.push(async () => {
        const answer = await outcomeOf(declaration);
        this.registry.declare(atStart(location, answer), location);
      });
    }
  }

  /** Does not await the listener. An unhandled rejection would end the process. */
  private listen(
    event: keyof DelayEventMap,
    instance: object,
    methodName: string,
    location: string,
  ): void {
    const advise = this.onceAdvised((error) => `${location}: its @OnDelayEvent fails: ${error}`);
    const call = async (args: unknown[]): Promise<void> => {
      await adopted<unknown>(Reflect.get(instance, methodName).call(instance, ...args));
    };
    this.events.on(event, (...args: unknown[]) => void call(args).catch(advise));
  }

  /** Logged once: a failing backoff function would fail at every retry. */
  private onceAdvised(messageOf: (error: string) => string): (error: unknown) => void {
    let isSaid = false;
    return (error) => {
      if (isSaid) return;
      isSaid = true;
      this.events.emit('advice', { message: messageOf(describeError(error)) });
    };
  }
}

/** A factory with an instance per request has none yet; a class as its token has the methods. */
function instanceOf(wrapper: InstanceWrapper): unknown {
  const { instance, token } = wrapper;
  if (instance != null || isStatic(wrapper) || typeof token !== 'function') return instance;
  // Arrow functions have no prototype.
  return Object.create((token.prototype ?? null) as object | null);
}

/** The outcome as a function, so that the caller can name the place when it throws. */
const outcomeOf = <T>(promise: Promise<T>): Promise<() => T> =>
  promise.then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error;
    },
  );

const NO_INSTANCE =
  '@OnDelayEvent needs a provider with one instance, and this one is request-scoped or transient';
