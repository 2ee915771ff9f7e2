import {
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
  ModuleRef,
  ModulesContainer,
} from '@nestjs/core';
import { DelayConfigError } from '../api/errors.js';
import type { DelayEnhancers } from '../config/options.js';
import { EnhancedMethod, type FoundMethod, nestParts, type NestParts } from './enhanced-method.js';

/** Global enhancers. In Nest's order they come before those of a class. */
interface Globals {
  guards: CanActivate[];
  interceptors: NestInterceptor[];
  pipes: PipeTransform[];
  filters: ExceptionFilter[];
}

const NONE: Globals = { guards: [], interceptors: [], pipes: [], filters: [] };

/** Metadata keys of Nest's decorators. */
const METADATA = {
  '@UseGuards': '__guards__',
  '@UseInterceptors': '__interceptors__',
  '@UsePipes': '__pipes__',
  '@UseFilters': '__exceptionFilters__',
};

/** Finds the guards, interceptors, pipes and filters of methods. */
@Injectable()
export class NestEnhancers {
  #nest: NestParts | undefined;

  constructor(
    @Optional() private readonly config: ApplicationConfig,
    @Optional() private readonly modules: ModulesContainer,
    @Optional() private readonly moduleRef: ModuleRef,
  ) {}

  /** Whether a global enhancer has an instance per request. */
  areScoped(enhancers: DelayEnhancers): boolean {
    return enhancers === 'all' && Object.values(this.#scoped()).some(({ length }) => length > 0);
  }

  /**
   * @throws DelayConfigError for a class without a provider: Nest would skip that guard silently
   */
  check({ wrapper, instance, methodName, place }: FoundMethod): void {
    for (const [decorator, key] of Object.entries(METADATA)) {
      const ofClass: unknown[] = Reflect.getMetadata(key, instance.constructor) ?? [];
      const ofMethod: unknown[] = Reflect.getMetadata(key, Reflect.get(instance, methodName)) ?? [];
      for (const each of [...ofClass, ...ofMethod]) {
        if (typeof each !== 'function' || wrapper.host?.injectables.has(each)) continue;
        throw new DelayConfigError(
          `${place}: ${decorator}(${each.name}) would not run, because Nest did not create the provider from its class; ` +
            `list the class among the providers, or write ${decorator}(new ${each.name}())`,
        );
      }
    }
  }

  /** @returns undefined if there are none: the method is called directly */
  of(found: FoundMethod, enhancers: DelayEnhancers): EnhancedMethod | undefined {
    if (enhancers === false) return undefined;
    return this.#enhanced(found, enhancers === 'own' ? NONE : this.#globals());
  }

  /** The same for one request. */
  async ofRequest(
    found: FoundMethod,
    enhancers: DelayEnhancers,
    contextId: ContextId,
  ): Promise<EnhancedMethod | undefined> {
    if (enhancers === false) return undefined;
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
    const globals = this.#globals();
    const scoped = this.#scoped();
    const resolved = <T>(wrappers: { token: unknown }[]): Promise<T[]> =>
      Promise.all(
        wrappers.map(({ token }) =>
          this.moduleRef.resolve<T>(token as string, contextId, { strict: false }),
        ),
      );
    return {
      guards: [...globals.guards, ...(await resolved<CanActivate>(scoped.guards))],
      interceptors: [
        ...globals.interceptors,
        ...(await resolved<NestInterceptor>(scoped.interceptors)),
      ],
      pipes: [...globals.pipes, ...(await resolved<PipeTransform>(scoped.pipes))],
      filters: [...globals.filters, ...(await resolved<ExceptionFilter>(scoped.filters))],
    };
  }

  #enhanced(
    { wrapper, instance, methodName, place }: FoundMethod,
    globals: Globals,
    contextId?: ContextId,
  ): EnhancedMethod | undefined {
    const nest = (this.#nest ??= nestParts(this.modules));
    const method = Reflect.get(instance, methodName);
    const where = [instance, method, this.#moduleKeyOf(wrapper), contextId, wrapper.id] as const;
    const guards = [...globals.guards, ...nest.guardsOf.create(...where)];
    const interceptors = [...globals.interceptors, ...nest.interceptorsOf.create(...where)];
    const pipes = [...globals.pipes, ...nest.pipesOf.create(...where)];
    // Nearest first.
    const filters = nest.filtersOf.create(...where);
    const ofApplication = nest.filtersOf.createConcreteContext(globals.filters).toReversed();
    const allFilters = [...filters['filters'], ...ofApplication];
    filters.setCustomFilters(allFilters);
    if ([guards, interceptors, pipes, allFilters].every(({ length }) => length === 0))
      return undefined;
    return new EnhancedMethod(
      nest,
      { instance, method, place },
      { guards, interceptors, pipes, filters },
    );
  }

  /** Compares the module itself: Nest's own search ignores controllers. */
  #moduleKeyOf({ host }: FoundMethod['wrapper']): string {
    for (const [key, module] of this.modules) if (module === host) return key;
    return '';
  }
}

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
