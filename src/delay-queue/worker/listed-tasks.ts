import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { describeError } from '../api/error-text.js';
import { DelayEvents } from '../api/events.js';
import type { ResolvedOptions } from '../config/options.js';
import { isStatic } from '../handlers/enhanced-method.js';
import type { Duty } from '../tasks/task-health.js';
import { isManual } from './manual-runs.js';

interface Registry {
  addInterval(name: string, interval: NodeJS.Timeout): void;
  getInterval(name: string): unknown;
  deleteInterval(name: string): void;
}

const METHODS = ['addInterval', 'getInterval', 'deleteInterval'];

interface Entry {
  registry: Registry;
  name: string;
  interval: NodeJS.Timeout;
}

/** The background tasks of a worker. */
export const tasksOf = (options: Pick<ResolvedOptions, 'worker'>): readonly Duty[] =>
  isManual(options) ? ['load', 'renew'] : ['load', 'sweep', 'renew', 'prune'];

/**
 * Lists the engine's background tasks as intervals in the `SchedulerRegistry` of @nestjs/schedule,
 * such as `delay-queue:sweep`. Finds the registry by its class name: the application may not have
 * that package. The intervals are cleared ones, because the package clears all intervals when the
 * application closes, while running handlers still need their leases renewed.
 */
@Injectable()
export class ListedTasks {
  #entries: Entry[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly events: DelayEvents,
  ) {}

  /** A name that is taken is left alone, and reported by `advice`. */
  add(duties: readonly Duty[]): void {
    for (const registry of this.#registries()) {
      for (const duty of duties) this.#add(registry, `delay-queue:${duty}`);
    }
  }

  /** Removes its entries, except those that the application has replaced. */
  remove(): void {
    for (const { registry, name, interval } of this.#entries.splice(0)) {
      try {
        if (registry.getInterval(name) === interval) registry.deleteInterval(name);
      } catch {
        // The application has deleted the entry.
      }
    }
  }

  #add(registry: Registry, name: string): void {
    const interval = clearedInterval();
    try {
      registry.addInterval(name, interval);
      this.#entries.push({ registry, name, interval });
    } catch (error) {
      this.events.emit('advice', {
        message: `SchedulerRegistry does not list ${name}, which runs anyway: ${describeError(error)}`,
      });
    }
  }

  /** More than one where @nestjs/schedule is installed twice. */
  #registries(): Set<Registry> {
    const found = new Set<Registry>();
    for (const wrapper of this.discovery.getProviders()) {
      const { token } = wrapper;
      if (typeof token !== 'function' || token.name !== 'SchedulerRegistry') continue;
      const instance: unknown = isStatic(wrapper) ? wrapper.instance : undefined;
      if (isRegistry(instance)) found.add(instance);
    }
    return found;
  }
}

/** An application may have another class of that name. */
const isRegistry = (value: unknown): value is Registry =>
  typeof value === 'object' &&
  value !== null &&
  METHODS.every((method) => typeof Reflect.get(value, method) === 'function');

/** `clearInterval` takes it as any other. */
function clearedInterval(): NodeJS.Timeout {
  const interval = setInterval(() => {}, 1_000);
  clearInterval(interval);
  return interval;
}
