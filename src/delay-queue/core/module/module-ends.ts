import { type OnModuleDestroy, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

/** What to do at the start and the end of the application. */
interface Ends {
  /** Every provider has bootstrapped. */
  bootstrapped(): Promise<void>;
  /** The application begins to close, and no provider knows. Both modules call it. */
  closing(): Promise<void>;
}

class ModuleAtAnEnd implements OnModuleDestroy {
  /** One for each queue. */
  readonly ends: Ends[] = [];

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.ends.map((each) => each.closing()));
  }
}

/** Its hooks run before those of all other modules; in Nest 10, also on close. */
@Module({})
export class FirstModule extends ModuleAtAnEnd {}

/** Its hooks run after those of all other modules; on close, before them. */
@Module({})
export class LastModule extends ModuleAtAnEnd implements OnApplicationBootstrap {
  async onApplicationBootstrap(): Promise<void> {
    await Promise.all(this.ends.map((each) => each.bootstrapped()));
  }
}

/**
 * Moves the two modules to the ends of Nest's hook order. Nest calls the hooks of modules by their
 * distance from the root module: farthest first, and on close nearest first (in Nest 10 farthest
 * first, too). So a separate module gets the close hook before any provider, wherever the queue is
 * imported, and Nest waits for it.
 *
 * Call it while instances are created: Nest computes the distances before that, and sorts after it.
 */
export function takePlaces(modules: ModulesContainer): void {
  for (const module of modules.values()) {
    if (module.metatype === FirstModule) module.distance = Infinity;
    if (module.metatype === LastModule) module.distance = -Infinity;
  }
}

/** Adds to what both modules do. Call it when all instances exist. */
export function hearEnds(modules: ModulesContainer, ends: Ends): void {
  for (const { instance } of modules.values()) {
    if (instance instanceof ModuleAtAnEnd) instance.ends.push(ends);
  }
}
