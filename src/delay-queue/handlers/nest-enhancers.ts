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

/** What is global: in the order of Nest, before what stands at a class. */
interface Globals {
  guards: CanActivate[];
  interceptors: NestInterceptor[];
  pipes: PipeTransform[];
  filters: ExceptionFilter[];
}

const NONE: Globals = { guards: [], interceptors: [], pipes: [], filters: [] };

/** Where Nest's decorators leave what they are given. */
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

  /** Of those that are global one has another instance for each request. */
  areScoped(enhancers: DelayEnhancers): boolean {
    return enhancers === 'all' && Object.values(this.#scoped()).some(({ length }) => length > 0);
  }

  /** @throws DelayConfigError for a class that Nest does not know there: it leaves such a guard out without a word */
  check({ wrapper, instance, methodName, place }: FoundMethod): void {
    for (const [decorator, key] of Object.entries(METADATA)) {
      const ofClass: unknown[] = Reflect.getMetadata(key, instance.constructor) ?? [];
      const ofMethod: unknown[] = Reflect.getMetadata(key, Reflect.get(instance, methodName)) ?? [];
      for (const each of [...ofClass, ...ofMethod]) {
        if (typeof each !== 'function' || wrapper.host?.injectables.has(each)) continue;
        throw new DelayConfigError(
          `${place}: ${decorator}(${each.name}) would not run, because Nest has not made the provider from its class; ` +
            `list the class among the providers, or write ${decorator}(new ${each.name}())`,
        );
      }
    }
  }

  /** @returns undefined when there are none: the method is called as without the option */
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

  /** Those that have no single instance. */
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
    // The nearest first.
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

  /** By the module itself: Nest's own search knows no controllers. */
  #moduleKeyOf({ host }: FoundMethod['wrapper']): string {
    for (const [key, module] of this.modules) if (module === host) return key;
    return '';
  }
}

/**
 * The tokens of `@nestjs/core` are classes, and each copy of it has its own. With another copy Nest would say
 * that it cannot resolve something of this library. So every use of it is optional, and this provider,
 * which they all wait for in the end, says what is the matter.
 *
 * It stands in for `DiscoveryModule`, which says nothing better.
 *
 * @throws DelayConfigError from the factory, when the application runs on another copy
 */
export const DISCOVERY: FactoryProvider<DiscoveryService> = {
  provide: DiscoveryService,
  inject: [{ token: ModulesContainer, optional: true }],
  useFactory: (modules?: ModulesContainer) => new DiscoveryService(ofThisCopy(modules)),
};

/** @throws DelayConfigError when there is none: it is a class of another copy */
export function ofThisCopy(modules: ModulesContainer | undefined): ModulesContainer {
  if (modules !== undefined) return modules;
  throw new DelayConfigError(
    'the application and nestjs-delay-queue load two different copies of @nestjs/core, and the providers of one mean ' +
      'nothing to the other; `npm ls @nestjs/core` shows them: let one version satisfy both, and install it once, ' +
      'where both find it',
  );
}
