import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { DelayConfigError } from '../api/errors.js';
import { DelayClient } from '../client/delay-client.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import { ALL_SERVICES, DEFAULT_QUEUE } from '../config/queue-names.js';
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

/** The queues of an application, in the order of their imports. Call it once all instances exist. */
export const queuesIn = (modules: ModulesContainer): Queue[] =>
  [...modules.values()]
    .filter(({ metatype }) => Reflect.has(metatype, MARK))
    .map(({ instance }) => instance as unknown as Queue);

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
 * @param isOurs whether it is of this copy of the package
 * @returns the names of all queues
 * @throws DelayConfigError for a second copy, and for a name or tables that another queue has
 */
export function checkQueues(
  modules: ModulesContainer,
  queue: Queue,
  isOurs: (one: Queue) => boolean,
): string[] {
  const all = queuesIn(modules);
  if (!all.every(isOurs)) {
    throw new DelayConfigError(
      'two copies of nestjs-delay-queue are imported; `npm ls nestjs-delay-queue` shows them: ' +
        'install one version, once',
    );
  }
  const names = all.map((each) => each.queue);
  // Nest keys dynamic modules by reference: a second forRoot would start a second engine.
  if (names.indexOf(queue.queue) !== names.lastIndexOf(queue.queue)) {
    const which = queue.queue === DEFAULT_QUEUE ? '' : `{ queue: '${queue.queue}' }`;
    throw new DelayConfigError(
      `DelayQueueModule.forRoot(${which}) was imported twice; import it once, in the root module, ` +
        'or give each a queue, and a schema or database, of its own',
    );
  }
  const twin = all.find((other) => shareTables(queue, other));
  if (twin === undefined) return names;
  throw new DelayConfigError(
    `DelayQueueModule: the queues '${twin.queue}' and '${queue.queue}' have the same tables; ` +
      'give one of them a schema or a database of its own',
  );
}

/** Told apart by name: instruments wrap instances. */
const shareTables = (one: Queue, other: Queue): boolean =>
  one.queue !== other.queue &&
  one.get(DelayClient).dataSource === other.get(DelayClient).dataSource &&
  one.get<ResolvedOptions>(RESOLVED_OPTIONS).schema ===
    other.get<ResolvedOptions>(RESOLVED_OPTIONS).schema;
