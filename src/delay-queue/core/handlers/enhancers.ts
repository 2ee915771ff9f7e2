import { type FactoryProvider, Injectable, Optional } from '@nestjs/common';
import {
  ApplicationConfig,
  type ContextId,
  DiscoveryService,
  ExternalContextCreator,
  ModuleRef,
  ModulesContainer,
} from '@nestjs/core';
import { DelayConfigError } from '../api/errors.js';
import type { DelayEnhancers } from '../api/options.js';
import { type Globals, EnhancedMethod } from './enhanced-method.js';
import { nestInternals } from './nest-internals.js';

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
   * @throws DelayConfigError for a class without a provider, which Nest would skip silently
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
    if (isAny) this.#nest ??= nestInternals(this.modules);
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

  /** Enhancers without a single instance. */
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
    const nest = (this.#nest ??= nestInternals(this.modules));
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
