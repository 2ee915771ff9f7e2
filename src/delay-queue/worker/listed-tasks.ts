import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { describeError } from '../api/error-text.js';
import { DelayEvents } from '../api/events.js';
import type { ResolvedOptions } from '../config/options.js';
import { isStatic } from '../handlers/enhanced-method.js';
import type { Duty } from '../tasks/trouble.js';
import { isManual } from './manual-runs.js';

/** What `SchedulerRegistry` has that is used here. */
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

/** What a worker does over and over, as long as it lives. */
export const tasksOf = (options: Pick<ResolvedOptions, 'worker'>): readonly Duty[] =>
  isManual(options) ? ['load', 'renew'] : ['load', 'sweep', 'renew', 'prune'];

/**
 * Shows the engine's recurring tasks in the `SchedulerRegistry` of @nestjs/schedule, if the application has one: `delay-queue:sweep`
 * among its intervals, say. It is found by its name, since the application may not have that package. What stands there is an
 * interval that was cleared: the orchestrator of that package clears all intervals when the application closes, while
 * handlers still run, and a lease has to be renewed for as long as they do.
 */
@Injectable()
export class ListedTasks {
  #entries: Entry[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly events: DelayEvents,
  ) {}

  /** A name that is taken stays what it is: the application hears of it by `advice`. */
  add(duties: readonly Duty[]): void {
    for (const registry of this.#registries()) {
      for (const duty of duties) this.#add(registry, `delay-queue:${duty}`);
    }
  }

  /** But for what the application has put in the place of an entry. */
  remove(): void {
    for (const { registry, name, interval } of this.#entries.splice(0)) {
      try {
        if (registry.getInterval(name) === interval) registry.deleteInterval(name);
      } catch {
        // It throws for an entry that is gone: the application has deleted it.
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
        message: `SchedulerRegistry does not list ${name}, which runs all the same: ${describeError(error)}`,
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

/** An application may have a class of that name which is something else. */
const isRegistry = (value: unknown): value is Registry =>
  typeof value === 'object' &&
  value !== null &&
  METHODS.every((method) => typeof Reflect.get(value, method) === 'function');

/** To `clearInterval` it is one like any other. */
function clearedInterval(): NodeJS.Timeout {
  const interval = setInterval(() => {}, 1_000);
  clearInterval(interval);
  return interval;
}
