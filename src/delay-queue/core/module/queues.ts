import { type FactoryProvider, Inject, type InjectionToken, type Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ALL_SERVICES, DEFAULT_QUEUE } from '../config/queue-names.js';
import { DelayService } from './delay.service.js';

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

/**
 * Injection token of a service of a queue: of `DelayService` unless another one is given.
 *
 * ```ts
 * app.get(getDelaysToken('eu', DelayAdmin));
 * ```
 * @param queue as in `forRoot({ queue })`; without it, the default queue's
 */
export function getDelaysToken<Service = DelayService>(
  queue: string = DEFAULT_QUEUE,
  service: Type<Service> = DelayService as never,
): InjectionToken<Service> {
  return queue === DEFAULT_QUEUE ? service : `nestjs-delay-queue:${queue}:${service.name}`;
}

/**
 * Injects a service of a queue: its `DelayService` unless another one is given.
 *
 * ```ts
 * constructor(
 *   @InjectDelays('eu') private readonly delays: DelayService,
 *   @InjectDelays('eu', DelayAdmin) private readonly admin: DelayAdmin,
 * ) {}
 * ```
 */
export const InjectDelays = (
  ...of: Parameters<typeof getDelaysToken>
): ParameterDecorator & PropertyDecorator => Inject(getDelaysToken(...of));
