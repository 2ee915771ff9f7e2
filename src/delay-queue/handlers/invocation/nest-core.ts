import type { FactoryProvider } from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { DelayConfigError } from '../../delay/delay.errors.js';

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
