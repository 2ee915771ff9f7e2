import {
  type ArgumentMetadata,
  type CanActivate,
  type ExceptionFilter,
  type FactoryProvider,
  Injectable,
  type NestInterceptor,
  Optional,
  type PipeTransform,
} from '@nestjs/common';
import {
  ApplicationConfig,
  type ContextId,
  DiscoveryService,
  ExternalContextCreator,
  ModuleRef,
  ModulesContainer,
  type NestContainer,
} from '@nestjs/core';
import { adopted } from '../api/adopted.js';
import type { Delay } from '../api/delay.js';
import {
  DelayConfigError,
  DelayGuardError,
  DelayInterceptorError,
  isVerdict,
} from '../api/errors.js';
import type { DelayEnhancers } from '../config/options.js';
import { CONTEXT_TYPE, type HandlerCallArguments } from './delay-request.js';

/** The call of a method. Interceptors start it: once, and before they end. */
class MethodRun {
  #running: Promise<void> | undefined;
  #hasEnded = false;
  #isOver = false;

  /** @param run calls the method */
  constructor(
    private readonly place: string,
    private readonly run: () => Promise<void>,
  ) {}

  /** `next.handle()` of interceptors. */
  readonly next = async (): Promise<void> => {
    if (this.#isOver) throw this.#wrong('called too late, after the end');
    if (this.#running !== undefined) {
      const cause = await this.#running.catch((error: unknown) => error);
      throw this.#wrong(
        'called a second time; it ran once, and what fails is tried again as a whole',
        cause,
      );
    }
    this.#running = this.run();
    const over = (): void => {
      this.#hasEnded = true;
    };
    this.#running.then(over, over);
    return this.#running;
  };

  /** Allows no further start and awaits a running call, so that no other attempt runs beside it. */
  async over(): Promise<void> {
    this.#isOver = true;
    await this.#running?.catch(() => {});
  }

  /** The interceptors succeeded. @throws an error that they did not wait for */
  async completed(): Promise<void> {
    const wasSeen = this.#hasEnded;
    await this.over();
    if (this.#running === undefined) {
      throw this.#wrong(
        'not called, and nothing is done without it; to skip it on purpose, throw DiscardDelay or PostponeDelay',
      );
    }
    if (!wasSeen) await this.#running;
  }

  #wrong(what: string, cause?: unknown): DelayInterceptorError {
    const message = `interceptors of ${this.place}: the handler was ${what}`;
    return new DelayInterceptorError(message, cause === undefined ? undefined : { cause });
  }
}

/**
 * What is read of Nest beside its public interface: private fields of `ExternalContextCreator`, the
 * methods of each, and the list `filters` of what `filtersContextCreator` creates. They are the same in Nest 10, 11 and 12 (docs/adr/0061).
 */
const INTERNALS = {
  guardsConsumer: ['tryActivate', 'createContext'],
  guardsContextCreator: ['create'],
  interceptorsConsumer: ['intercept'],
  interceptorsContextCreator: ['create'],
  pipesContextCreator: ['create'],
  filtersContextCreator: ['create', 'createConcreteContext'],
};

/** Filters of a method. */
type FilterHandler = ReturnType<ExternalContextCreator['filtersContextCreator']['create']>;

/** @throws DelayConfigError in a version of Nest that lacks one of {@link INTERNALS} */
function internalsOf(modules: ModulesContainer): ExternalContextCreator {
  const container: Pick<NestContainer, 'getModules'> = { getModules: () => modules };
  const creator = ExternalContextCreator.fromContainer(container as NestContainer);
  for (const [part, methods] of Object.entries(INTERNALS)) {
    const given: object | undefined = Reflect.get(creator, part);
    const missing = methods.find((method) => typeof given?.[method as never] !== 'function');
    if (missing !== undefined) refuse(`${part}.${missing}()`);
  }
  const { filters } = creator['filtersContextCreator'].create({}, () => {}, '') as unknown as {
    filters?: unknown;
  };
  return Array.isArray(filters) ? creator : refuse('filters');
}

function refuse(what: string): never {
  throw new DelayConfigError(
    `enhancers: must be false with this version of Nest, whose ExternalContextCreator has no ${what}`,
  );
}

/** Global enhancers. In Nest's order they come before those of a class. */
interface Globals {
  guards: CanActivate[];
  interceptors: NestInterceptor[];
  pipes: PipeTransform[];
  filters: ExceptionFilter[];
}

/** Enhancers of a method, ready to run: the application's, then the class's, then the method's. */
type Enhancers = Omit<Globals, 'filters'> & { filters: FilterHandler };

/** The method inside the enhancers. */
interface EnhancedTarget {
  instance: object;
  /** The function at discovery: decorators attach their metadata to it. */
  method: (...args: unknown[]) => unknown;
  /** For messages. */
  place: string;
}

/** Pipes receive a payload like the body of a request; its class is unknown. */
const PAYLOAD: ArgumentMetadata = { type: 'body', metatype: undefined, data: undefined };

/** A handler's method with Nest's enhancers: guards, interceptors, pipes, the method, filters. */
export class EnhancedMethod {
  readonly #interceptors: NestInterceptor[];

  constructor(
    private readonly nest: ExternalContextCreator,
    private readonly target: EnhancedTarget,
    private readonly enhancers: Enhancers,
  ) {
    this.#interceptors = enhancers.interceptors.map((interceptor) => ({
      intercept: (...given) => adopted(interceptor.intercept(...given)),
    }));
  }

  /**
   * @param invoke calls the method with the delays as the pipes return them
   * @throws what fails the attempt
   */
  async call(
    args: HandlerCallArguments,
    invoke: (work: Delay | Delay[]) => unknown,
  ): Promise<void> {
    try {
      await this.#guard(args);
      await this.#intercept(args, invoke);
    } catch (error) {
      await this.#filter(error, args);
      throw error;
    }
  }

  async #guard(args: HandlerCallArguments): Promise<void> {
    const { instance, method, place } = this.target;
    for (const guard of this.enhancers.guards) {
      const asked: CanActivate = {
        canActivate: (context) => adopted(guard.canActivate(context)) as Promise<boolean>,
      };
      if (
        await this.nest['guardsConsumer'].tryActivate([asked], args, instance, method, CONTEXT_TYPE)
      )
        continue;
      throw new DelayGuardError(`${guard.constructor.name} refused the call of ${place}`);
    }
  }

  async #intercept(
    args: HandlerCallArguments,
    invoke: (work: Delay | Delay[]) => unknown,
  ): Promise<void> {
    const { instance, method, place } = this.target;
    const [work, ctx] = args;
    const run = new MethodRun(place, async () => {
      const piped = await this.#piped(work);
      // Another node may run the delay now.
      ctx.signal.throwIfAborted();
      await adopted(invoke(piped));
    });
    try {
      await ended(
        await this.nest['interceptorsConsumer'].intercept(
          this.#interceptors,
          args,
          instance,
          method,
          run.next,
          CONTEXT_TYPE,
        ),
      );
    } catch (error) {
      await run.over();
      throw error;
    }
    await run.completed();
  }

  async #piped(work: Delay | Delay[]): Promise<Delay | Delay[]> {
    if (this.enhancers.pipes.length === 0) return work;
    if (!Array.isArray(work)) return this.#pipedDelay(work);
    const all: Delay[] = [];
    for (const delay of work) all.push(await this.#pipedDelay(delay));
    return all;
  }

  async #pipedDelay(delay: Delay): Promise<Delay> {
    let payload: unknown = delay.payload;
    for (const pipe of this.enhancers.pipes) {
      payload = await adopted<unknown>(pipe.transform(payload, PAYLOAD));
    }
    return { ...delay, payload } as Delay;
  }

  /** A filter reports an error, or throws another one instead. Returning does not clear it. */
  async #filter(error: unknown, args: HandlerCallArguments): Promise<void> {
    if (isVerdict(error)) return;
    const { instance, method } = this.target;
    const host = this.nest['guardsConsumer'].createContext(args, instance, method);
    host.setType(CONTEXT_TYPE);
    const filtered: unknown = this.enhancers.filters.invokeCustomFilters(error, host);
    await ended(await adopted(filtered));
  }
}

/** Of any copy of RxJS. Emitted values are dropped; an error is thrown. */
async function ended(result: unknown): Promise<void> {
  const { subscribe } = (result ?? {}) as { subscribe?: (observer: object) => unknown };
  if (typeof subscribe !== 'function') return;
  await new Promise<void>((resolve, reject) => {
    subscribe.call(result, { error: reject, complete: resolve });
  });
}

export type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A method of a provider or controller, found by discovery. */
export interface FoundMethod {
  wrapper: InstanceWrapper;
  instance: object;
  methodName: string;
  /** For messages. */
  place: string;
}

/** Whether it has a single instance. */
export const isStatic = (wrapper: InstanceWrapper): boolean =>
  wrapper.isDependencyTreeStatic() && !wrapper.isTransient;

const NONE: Globals = { guards: [], interceptors: [], pipes: [], filters: [] };

/** Metadata keys of Nest's decorators. */
const METADATA = {
  '@UseGuards': '__guards__',
  '@UseInterceptors': '__interceptors__',
  '@UsePipes': '__pipes__',
  '@UseFilters': '__exceptionFilters__',
};

/** What a decorator put on the class and the method. */
const givenBy = (key: string, { instance, methodName }: FoundMethod): unknown[] => [
  ...(Reflect.getMetadata(key, instance.constructor) ?? []),
  ...(Reflect.getMetadata(key, Reflect.get(instance, methodName)) ?? []),
];

/** Finds the guards, interceptors, pipes and filters of methods. */
@Injectable()
export class NestEnhancers {
  #nest: ExternalContextCreator | undefined;

  constructor(
    @Optional() private readonly config: ApplicationConfig,
    @Optional() private readonly modules: ModulesContainer,
    @Optional() private readonly moduleRef: ModuleRef,
  ) {}

  /**
   * Whether any applies to the method. Without one it is called directly, and nothing of Nest's
   * internals is read.
   * @throws DelayConfigError for a class without a provider, which Nest would skip silently, and in a
   *   version of Nest without {@link INTERNALS}
   */
  apply(found: FoundMethod, enhancers: DelayEnhancers): boolean {
    if (enhancers === false) return false;
    const { wrapper, place } = found;
    let isAny = enhancers === 'all' && [this.#globals(), this.#scoped()].some(hasAny);
    for (const [decorator, key] of Object.entries(METADATA)) {
      for (const each of givenBy(key, found)) {
        isAny = true;
        if (typeof each !== 'function' || wrapper.host?.injectables.has(each)) continue;
        throw new DelayConfigError(
          `${place}: ${decorator}(${each.name}) would not run, because Nest did not create the provider from its class; ` +
            `list the class among the providers, or write ${decorator}(new ${each.name}())`,
        );
      }
    }
    if (isAny) this.#nest ??= internalsOf(this.modules);
    return isAny;
  }

  /** Whether a global enhancer has an instance per request. */
  areScoped(enhancers: DelayEnhancers): boolean {
    return enhancers === 'all' && hasAny(this.#scoped());
  }

  /** @returns undefined if none applies */
  of(found: FoundMethod, enhancers: DelayEnhancers): EnhancedMethod | undefined {
    if (!this.apply(found, enhancers)) return undefined;
    return this.#enhanced(found, enhancers === 'own' ? NONE : this.#globals());
  }

  /** The same for one request. */
  async ofRequest(
    found: FoundMethod,
    enhancers: DelayEnhancers,
    contextId: ContextId,
  ): Promise<EnhancedMethod | undefined> {
    if (!this.apply(found, enhancers)) return undefined;
    const globals = enhancers === 'own' ? NONE : await this.#globalsOf(contextId);
    return this.#enhanced(found, globals, contextId);
  }

  #globals(): Globals {
    return {
      guards: this.config.getGlobalGuards(),
      interceptors: this.config.getGlobalInterceptors(),
      pipes: this.config.getGlobalPipes(),
      filters: this.config.getGlobalFilters(),
    };
  }

  /** Those without a single instance. */
  #scoped() {
    return {
      guards: this.config.getGlobalRequestGuards(),
      interceptors: this.config.getGlobalRequestInterceptors(),
      pipes: this.config.getGlobalRequestPipes(),
      filters: this.config.getGlobalRequestFilters(),
    };
  }

  async #globalsOf(contextId: ContextId): Promise<Globals> {
    const scoped = this.#scoped();
    const all = Object.entries(this.#globals()).map(async ([kind, single]: [string, object[]]) => {
      const tokens = scoped[kind as keyof Globals].map(({ token }) => token as string);
      const resolved = tokens.map((token) =>
        this.moduleRef.resolve<object>(token, contextId, { strict: false }),
      );
      return [kind, [...single, ...(await Promise.all(resolved))]];
    });
    return Object.fromEntries(await Promise.all(all)) as Globals;
  }

  #enhanced(
    { wrapper, instance, methodName, place }: FoundMethod,
    globals: Globals,
    contextId?: ContextId,
  ): EnhancedMethod {
    const nest = (this.#nest ??= internalsOf(this.modules));
    const method = Reflect.get(instance, methodName);
    const where = [instance, method, this.#moduleKeyOf(wrapper), contextId, wrapper.id] as const;
    const filters = nest['filtersContextCreator'].create(...where);
    // Nearest first.
    const ofApplication = nest['filtersContextCreator']
      .createConcreteContext(globals.filters)
      .toReversed();
    filters.setCustomFilters([...filters['filters'], ...ofApplication]);
    return new EnhancedMethod(
      nest,
      { instance, method, place },
      {
        guards: [...globals.guards, ...nest['guardsContextCreator'].create(...where)],
        interceptors: [
          ...globals.interceptors,
          ...nest['interceptorsContextCreator'].create(...where),
        ],
        pipes: [...globals.pipes, ...nest['pipesContextCreator'].create(...where)],
        filters,
      },
    );
  }

  /** Compares the module itself: Nest's own search ignores controllers. */
  #moduleKeyOf({ host }: FoundMethod['wrapper']): string {
    for (const [key, module] of this.modules) if (module === host) return key;
    return '';
  }
}

const hasAny = (enhancers: object): boolean =>
  Object.values(enhancers).some(({ length }: unknown[]) => length > 0);

/**
 * Fails clearly if the application runs on another copy of `@nestjs/core`. Its tokens are classes,
 * different in each copy, so Nest would only report that it cannot resolve a provider of this
 * library. Therefore every injection of these tokens is optional, and all of them depend on this
 * provider, which reports the cause. It replaces `DiscoveryModule`, whose message is no better.
 * @throws DelayConfigError from the factory, on another copy
 */
export const DISCOVERY: FactoryProvider<DiscoveryService> = {
  provide: DiscoveryService,
  inject: [{ token: ModulesContainer, optional: true }],
  useFactory: (modules?: ModulesContainer) => new DiscoveryService(ofThisCopy(modules)),
};

/** @throws DelayConfigError if it is missing: the class is another copy's */
export function ofThisCopy(modules: ModulesContainer | undefined): ModulesContainer {
  if (modules !== undefined) return modules;
  throw new DelayConfigError(
    'the application and nestjs-delay-queue load two different copies of @nestjs/core, and one does not know the ' +
      'providers of the other; `npm ls @nestjs/core` shows them: let one version satisfy both, and install it once, ' +
      'where both find it',
  );
}
