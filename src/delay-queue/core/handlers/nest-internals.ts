import { ExternalContextCreator, type ModulesContainer, type NestContainer } from '@nestjs/core';
import { DelayConfigError } from '../api/errors.js';

/**
 * What is read of Nest beside its public interface: private fields of `ExternalContextCreator`, the
 * methods of each, and the list `filters` of what `filtersContextCreator` creates. They are the same in Nest 10, 11 and 12 (docs/adr/0035).
 */
const INTERNALS = {
  guardsConsumer: ['tryActivate', 'createContext'],
  guardsContextCreator: ['create'],
  interceptorsConsumer: ['intercept'],
  interceptorsContextCreator: ['create'],
  pipesContextCreator: ['create'],
  filtersContextCreator: ['create', 'createConcreteContext'],
};

/** @throws DelayConfigError in a version of Nest that lacks one of {@link INTERNALS} */
export function nestInternals(modules: ModulesContainer): ExternalContextCreator {
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
