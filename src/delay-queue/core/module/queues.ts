import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ALL_SERVICES } from '../config/queue-names.js';
import type { DelayService } from './delay.service.js';
import { getDelaysToken } from './inject-delays.js';

/** One `DelayQueueModule.forRoot()`: everything of that queue is found through it. */
export interface Queue {
  readonly queue: string;
  /** A provider of that queue's module. */
  get<Service>(token: InjectionToken<Service>): Service;
}

/** A text: another copy of this package has another class. */
export const MARK = Symbol.for('nestjs-delay-queue:module');

/** The modules of all queues, of other copies of this package as well. */
export const queueModules = (
  modules: ModulesContainer,
): { metatype: Function; instance: unknown }[] =>
  [...modules.values()].filter(({ metatype }) => Reflect.has(metatype, MARK));

/** The queues of an application, in the order of their imports. Call it once all instances exist. */
export const queuesIn = (modules: ModulesContainer): Queue[] =>
  queueModules(modules).map(({ instance }) => instance as Queue);

/** `DelayService` of all queues. One queue needs no choice: then the list is empty. */
export const ALL_SERVICES_PROVIDER: FactoryProvider<() => readonly DelayService[]> = {
  provide: ALL_SERVICES,
  // Of another copy of Nest there is none; the module says so.
  inject: [{ token: ModulesContainer, optional: true }],
  useFactory: (modules: ModulesContainer) => {
    let all: DelayService[] | undefined;
    return () => {
      if (all !== undefined) return all;
      const queues = queuesIn(modules);
      return (all =
        queues.length === 1 ? [] : queues.map((each) => each.get(getDelaysToken(each.queue))));
    };
  },
};
