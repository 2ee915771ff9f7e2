import { ExternalContextCreator, type ModulesContainer, type NestContainer } from '@nestjs/core';
import { DelayConfigError } from '../../delay/delay.errors.js';

/** What Nest finds and runs enhancers with. */
export type NestParts = ReturnType<typeof nestParts>;

/** Filters of a method. */
export type FilterHandler = ReturnType<NestParts['filtersOf']['create']>;

/**
 * `ExternalContextCreator` is public and has all of it, in private fields that were the same in Nest 10, 11 and 12. The
 * modules that they come from are no less internal, and to import them could break those who have no use for them. Without a
 * configuration they know nothing of what is global.
 *
 * @throws DelayConfigError in a Nest that has them no more
 */
export function nestParts(modules: ModulesContainer) {
  const container: Pick<NestContainer, 'getModules'> = { getModules: () => modules };
  const creator = ExternalContextCreator.fromContainer(container as NestContainer);
  const parts = {
    guards: creator['guardsConsumer'],
    guardsOf: creator['guardsContextCreator'],
    interceptors: creator['interceptorsConsumer'],
    interceptorsOf: creator['interceptorsContextCreator'],
    pipesOf: creator['pipesContextCreator'],
    filtersOf: creator['filtersContextCreator'],
  };
  for (const [part, given] of Object.entries<object | undefined>(parts)) {
    if (given !== undefined) continue;
    throw new DelayConfigError(
      `enhancers: must be false with this version of Nest, whose ExternalContextCreator has no ${part}`,
    );
  }
  return parts;
}
