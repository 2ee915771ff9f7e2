import { Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

/** What is to be done at the two ends of an application's life. */
export interface Ends {
  /** Every provider has bootstrapped. */
  bootstrapped(): Promise<void>;
  /** The application begins to close; no provider was told of it. Called by each of the two modules. */
  closing(): Promise<void>;
}

class ModuleAtAnEnd implements OnModuleDestroy {
  ends: Ends | undefined;

  async onModuleDestroy(): Promise<void> {
    await this.ends?.closing();
  }
}

/** Its hooks run before those of all other modules; in Nest 10 also when the application closes. */
@Module({})
export class FirstModule extends ModuleAtAnEnd {}

/** Its hooks run after those of all other modules; when the application closes, before them. */
@Module({})
export class LastModule extends ModuleAtAnEnd implements OnApplicationBootstrap {
  async onApplicationBootstrap(): Promise<void> {
    await this.ends?.bootstrapped();
  }
}

/**
 * Gives the two modules their places. Nest calls the hooks of one module after those of another, sorted by their
 * distance from the root module: falling, and when the application closes rising (in Nest 10 falling, too). A module of
 * its own hears of a close before any provider does, wherever the queue is imported, and may take its time: Nest waits.
 *
 * To be called while instances are made: before that Nest computes the distances, after that it sorts.
 */
export function takePlaces(modules: ModulesContainer): void {
  for (const module of modules.values()) {
    if (module.metatype === FirstModule) module.distance = Infinity;
    if (module.metatype === LastModule) module.distance = -Infinity;
  }
}

/** Says what the two do. To be called when all instances are there. */
export function hearEnds(modules: ModulesContainer, ends: Ends): void {
  for (const { instance } of modules.values()) {
    if (instance instanceof ModuleAtAnEnd) instance.ends = ends;
  }
}
