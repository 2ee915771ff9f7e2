import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { adopted, ignoreRejection } from '../api/adopted.js';
import { describeError } from '../api/error-text.js';
import { DelayConfigError } from '../api/errors.js';
import type { DelayEventMap, DelayEvents } from '../api/events.js';
import { checkKnownOptions, readOptions } from '../config/known-options.js';
import { atStart } from '../config/refusals.js';
import { DEFAULT_QUEUE, EVENTS, parseQueues } from '../config/queue-names.js';
import { checkName } from '../config/checks.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import { checkDecorated, type DecoratorEntries, entriesAt } from './decorators.js';
import { type FoundMethod, type InstanceWrapper, isStatic } from './enhancers.js';
import { parseDeclaration, HandlerRegistry } from './handler.registry.js';
import { Invoker } from './invoker.js';
import { handlerSettings } from './handler-settings.js';

/** Runs when all handlers are known. */
type Later = () => void | Promise<void>;

/** Finds methods with one of this library's decorators in all providers and controllers. */
@Injectable()
export class HandlerExplorer {
  readonly #scanner = new MetadataScanner();

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    private readonly discovery: DiscoveryService,
    private readonly invoker: Invoker,
    private readonly registry: HandlerRegistry,
    @Inject(EVENTS) private readonly events: DelayEvents,
  ) {}

  /**
   * Fills the registry with what serves this queue. Call it once, in `onModuleInit`, when all instances exist.
   * @param queues of the application
   * @throws DelayConfigError, and errors of codec and schemas
   */
  async explore(queues: readonly string[]): Promise<void> {
    const seen = new Set<object>();
    const later: Later[] = [];
    for (const wrapper of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      const instance: unknown = wrapper.isAlias ? undefined : instanceOrPrototype(wrapper);
      // One instance under several tokens is one handler.
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      this.exploreInstance(wrapper, instance, later, queues);
    }
    for (const add of later) await add();
  }

  /** @param later collects work that needs all handlers, or takes time */
  private exploreInstance(
    wrapper: InstanceWrapper,
    instance: object,
    later: Later[],
    queues: readonly string[],
  ): void {
    const prototype: unknown = Object.getPrototypeOf(instance);
    if (typeof prototype !== 'object' || prototype === null) return;
    const className = prototype.constructor?.name ?? String(wrapper.name);
    checkDecorated(prototype, className);
    for (const methodName of this.#scanner.getAllMethodNames(prototype)) {
      const location = `${className}.${methodName}`;
      const backoffFails = this.onceAdvised(
        (error) => `${location}: its backoff fails, so the module's is used: ${error}`,
      );
      const found: FoundMethod = { wrapper, instance, methodName, place: location };
      const servesThis = ({ options }: { options: unknown }): boolean =>
        servedQueues(options, location, queues).includes(this.options.queue);
      const isOurs = ({ options }: { options: unknown }): boolean => {
        atStart(location, () => checkKnownOptions(options, 'options', ['queue']));
        return servesThis({ options });
      };
      const handled = entriesAt('@OnDelay', prototype, methodName);
      for (const metadata of handled.filter(servesThis)) {
        const settings = handlerSettings(metadata, location, this.options, backoffFails);
        this.registry.add({
          ...settings,
          location: wrapper.host ? `${location} (${wrapper.host.name})` : location,
          invoke: this.invoker.of(found, settings.enhancers),
        });
      }
      for (const { name } of entriesAt('@OnDeadDelay', prototype, methodName).filter(isOurs)) {
        // A refusing guard would postpone the dead letter forever.
        const invoke = this.invoker.of(found, false);
        later.push(() => {
          const checked = atStart(location, () => checkName(name));
          const readPayload = this.options.payloads.lenientReaderOf(checked);
          this.registry.addOnDead(checked, { location, readPayload, invoke });
        });
      }
      for (const each of entriesAt('@RepeatDelay', prototype, methodName)) {
        const its = handled.filter(({ name }) => name === each.name);
        if (its.length === 0 || its.some(servesThis))
          this.declare(each, its.length > 0, location, later);
      }
      for (const { event } of entriesAt('@OnDelayEvent', prototype, methodName).filter(isOurs)) {
        if (!isStatic(wrapper)) throw new DelayConfigError(`${location}: ${NO_INSTANCE}`);
        this.listen(event, instance, methodName, location);
      }
    }
  }

  /** Synchronous refusals come in source order. */
  private declare(
    { name, options }: DecoratorEntries['@RepeatDelay'],
    isHandled: boolean,
    location: string,
    later: Later[],
  ): void {
    const { payloads } = this.options;
    const declaration = atStart(location, () => parseDeclaration(name, options, payloads));
    if (!isHandled) {
      throw new DelayConfigError(
        `${location}: @RepeatDelay('${String(name)}') needs an @OnDelay of that name on the same method`,
      );
    }
    if (!(declaration instanceof Promise)) {
      this.registry.declare(declaration, location);
      return;
    }
    // A rejection before it is awaited must fail the start, not end the process.
    void ignoreRejection(declaration);
    later.push(async () => {
      const declared = await declaration.catch((error: unknown) =>
        atStart(location, () => {
          throw error;
        }),
      );
      this.registry.declare(declared, location);
    });
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

/**
 * The queues that a decorated method serves.
 * @throws DelayConfigError for one that the application does not have: the method would never be called
 */
function servedQueues(options: unknown, location: string, queues: readonly string[]): string[] {
  const served = atStart(location, () =>
    parseQueues(readOptions(options, 'options', ['queue'])['queue']),
  );
  const missing = served.find((queue) => !queues.includes(queue));
  if (missing === undefined) return served;
  const those = `this application has ${queues.map((queue) => `'${queue}'`).join(', ')}`;
  throw new DelayConfigError(
    missing === DEFAULT_QUEUE
      ? `${location}: queue: say which one; ${those}`
      : `${location}: queue: there is no DelayQueueModule.forRoot({ queue: '${missing}' }); ${those}`,
  );
}

/** A factory with an instance per request has none yet; a class as its token has the methods. */
function instanceOrPrototype(wrapper: InstanceWrapper): unknown {
  const { instance, token } = wrapper;
  if (instance != null || isStatic(wrapper) || typeof token !== 'function') return instance;
  // Arrow functions have no prototype.
  return Object.create((token.prototype ?? null) as object | null);
}

const NO_INSTANCE =
  '@OnDelayEvent needs a provider with one instance, and this one is request-scoped or transient';
