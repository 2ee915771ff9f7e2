import { ExternalContextCreator, type ModulesContainer, type NestContainer } from '@nestjs/core';

/** What Nest finds and runs enhancers with. */
export type NestParts = ReturnType<typeof nestParts>;

/** Filters of a method. */
export type FilterHandler = ReturnType<NestParts['filtersOf']['create']>;

/**
 * `ExternalContextCreator` has all of it, and is public; that these are private fields there saves us the internal modules of
 * Nest, whose paths change. Without a configuration they know nothing of what is global.
 */
export function nestParts(modules: ModulesContainer) {
  const container: Pick<NestContainer, 'getModules'> = { getModules: () => modules };
  const creator = ExternalContextCreator.fromContainer(container as NestContainer);
  return {
    guards: creator['guardsConsumer'],
    guardsOf: creator['guardsContextCreator'],
    interceptors: creator['interceptorsConsumer'],
    interceptorsOf: creator['interceptorsContextCreator'],
    pipesOf: creator['pipesContextCreator'],
    filtersOf: creator['filtersContextCreator'],
  };
}
