import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { adopted, unheard } from '../api/adopted.js';
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
import { atStart, isClass, shown } from '../config/blame.js';
import { checkKnownOptions } from '../config/known-options.js';
import { checkMaxAttempts, checkName } from '../config/names.js';
import {
  type DelayEnhancers,
  parseAround,
  parseEnhancers,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from '../config/options.js';
import { checkConcurrency, parseTimeoutMs } from '../config/resolve-options.js';
import { checkDecorated, declarationOf } from './decorated-method.js';
import {
  deadNamesOf,
  eventsOf,
  type OnDelayBatchOptions,
  type OnDelayMetadata,
  onDelayMetadata,
  repeatDelayMetadata,
} from './decorators.js';
import { type FoundMethod, type InstanceWrapper, isStatic } from './enhanced-method.js';
import { type Handler, HandlerRegistry, limitsOf } from './handler.registry.js';
import { Invoker } from './invoker.js';

/** The part of a {@link Handler} that comes from its `@OnDelay` and the module's options. */
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

/** Delays of one call: they travel in one statement each way, and are held in memory with their payloads. */
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
 * @param place whose `@OnDelay` it is, for the message
 * @param onBackoffFault hears of a backoff function that throws or answers no duration
 * @throws DelayConfigError naming the place and the option
 */
export function handlerSettings(
  { name, options }: OnDelayMetadata,
  place: string,
  defaults: ResolvedOptions,
  onBackoffFault: (error: unknown) => void,
): HandlerSettings {
  return atStart(place, () => {
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
      // A fenced attempt is not renewed: its lease must last from the start.
      leaseMs: isTransactional ? Math.max(timeoutMs, defaults.leaseMs) : defaults.leaseMs,
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

/** The function's answer is checked each time. */
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

/** To be done when all handlers are known. */
type Later = () => void | Promise<void>;

/** Finds the methods with `@OnDelay` and `@OnDelayEvent` in all providers and controllers of the application. */
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
   * Fills the registry; to be called once, in `onModuleInit`, when all instances exist.
   *
   * @throws DelayConfigError for unusable options, and for two handlers of one name; what a codec or a schema throws
   */
  async explore(): Promise<void> {
    const seen = new Set<object>();
    const later: Later[] = [];
    for (const wrapper of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      const instance: unknown = wrapper.isAlias ? undefined : instanceOf(wrapper);
      // One instance under several tokens is still one handler.
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      this.exploreInstance(wrapper, instance, later);
    }
    for (const add of later) await add();
  }

  /** @param later gets what belongs to a handler that may be found later, or takes time */
  private exploreInstance(wrapper: InstanceWrapper, instance: object, later: Later[]): void {
    const prototype: unknown = Object.getPrototypeOf(instance);
    if (typeof prototype !== 'object' || prototype === null) return;
    const className = prototype.constructor?.name ?? String(wrapper.name);
    checkDecorated(prototype, className);
    for (const methodName of this.scanner.getAllMethodNames(prototype)) {
      const place = `${className}.${methodName}`;
      const backoffFails = this.onceAdvised(
        (error) => `${place}: its backoff fails, so the module's is used: ${error}`,
      );
      const found: FoundMethod = { wrapper, instance, methodName, place };
      for (const metadata of onDelayMetadata(prototype, methodName)) {
        const settings = handlerSettings(metadata, place, this.options, backoffFails);
        this.registry.add({
          ...settings,
          place: wrapper.host ? `${place} (${wrapper.host.name})` : place,
          invoke: this.invoker.of(found, settings.enhancers),
        });
      }
      for (const name of deadNamesOf(prototype, methodName)) {
        // A guard that refused would put the dead letter off for ever.
        const invoke = this.invoker.of(found, false);
        later.push(() => {
          const checked = atStart(place, () => checkName(name));
          const readPayload = this.options.payloads.lenientReaderOf(checked);
          this.registry.addOnDead(checked, { place, readPayload, invoke });
        });
      }
      this.declare(prototype, methodName, place, later);
      for (const event of eventsOf(prototype, methodName)) {
        if (!isStatic(wrapper)) throw new DelayConfigError(`${place}: ${NO_INSTANCE}`);
        this.listen(event, instance, methodName, place);
      }
    }
  }

  /** What takes no time is refused in the order of the code. */
  private declare(prototype: object, methodName: string, place: string, later: Later[]): void {
    const handled = onDelayMetadata(prototype, methodName).map(({ name }) => name);
    for (const { name, options } of repeatDelayMetadata(prototype, methodName)) {
      const { payloads } = this.options;
      const declaration = atStart(place, () => declarationOf(name, options, payloads));
      if (!handled.includes(name)) {
        throw new DelayConfigError(
          `${place}: @RepeatDelay('${String(name)}') stands beside the @OnDelay of that name, and there is none`,
        );
      }
      if (!(declaration instanceof Promise)) {
        this.registry.declare(declaration, place);
        continue;
      }
      // Whatever is refused before it is asked for ends the start, and not the process.
      void unheard(declaration);
      later.push(async () => {
        const answer = await outcomeOf(declaration);
        this.registry.declare(atStart(place, answer), place);
      });
    }
  }

  /** What a listener returns is not awaited; an unhandled rejection would end the process. */
  private listen(
    event: keyof DelayEventMap,
    instance: object,
    methodName: string,
    place: string,
  ): void {
    const advise = this.onceAdvised((error) => `${place}: its @OnDelayEvent fails: ${error}`);
    const call = async (args: unknown[]): Promise<void> => {
      await adopted<unknown>(Reflect.get(instance, methodName).call(instance, ...args));
    };
    this.events.on(event, (...args: unknown[]) => void call(args).catch(advise));
  }

  /** Logged once: a backoff function that fails would fail at every retry. */
  private onceAdvised(messageOf: (error: string) => string): (error: unknown) => void {
    let isSaid = false;
    return (error) => {
      if (isSaid) return;
      isSaid = true;
      this.events.emit('advice', { message: messageOf(describeError(error)) });
    };
  }
}

/** Of a factory whose instances belong to requests Nest has none: its token says what it makes, if that is a class. */
function instanceOf(wrapper: InstanceWrapper): unknown {
  const { instance, token } = wrapper;
  if (instance != null || isStatic(wrapper) || typeof token !== 'function') return instance;
  // An arrow function has no prototype.
  return Object.create((token.prototype ?? null) as object | null);
}

/** For who reads it at a place that can say where it comes from. */
const outcomeOf = <T>(promise: Promise<T>): Promise<() => T> =>
  promise.then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error;
    },
  );

const NO_INSTANCE =
  '@OnDelayEvent needs a provider with one instance, and this one is request-scoped or transient';
