import { Injectable, type DynamicModule, type Provider, type Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  type DelayQueueOptions,
  RESOLVED_OPTIONS,
} from '../../../src/delay-queue/options/delay-queue.options.js';
import { resolveOptions } from '../../../src/delay-queue/options/resolve-options.js';
import { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import type { Delay } from '../../../src/delay-queue/delay/delay.js';
import type { DelayContext } from '../../../src/delay-queue/delay/contexts.js';
import { HandlerExplorer } from '../../../src/delay-queue/handlers/handler.explorer.js';
import { HandlerRegistry } from '../../../src/delay-queue/handlers/handler.registry.js';
import { NestEnhancers } from '../../../src/delay-queue/handlers/invocation/nest-enhancers.js';
import { Invoker } from '../../../src/delay-queue/handlers/invocation/invoker.js';
import { OnDelay } from '../../../src/delay-queue/handlers/on-delay.decorator.js';
import '../../support/delay-payloads.js';

/** What the handlers of a test saw, in order. */
export const calls: unknown[] = [];

/** The registry of an application with these providers. */
export async function explored(
  providers: Provider[],
  more: {
    controllers?: Type[];
    imports?: DynamicModule[];
    events?: DelayEvents;
    options?: DelayQueueOptions;
  } = {},
): Promise<HandlerRegistry> {
  const options = resolveOptions({ lease: '1m', timeout: '20s', ...more.options });
  const app = await Test.createTestingModule({
    imports: [DiscoveryModule, ...(more.imports ?? [])],
    controllers: more.controllers ?? [],
    providers: [
      HandlerExplorer,
      HandlerRegistry,
      Invoker,
      NestEnhancers,
      { provide: DelayEvents, useValue: more.events ?? new DelayEvents() },
      { provide: RESOLVED_OPTIONS, useValue: options },
      ...providers,
    ],
  }).compile();
  await app.init();
  await app.get(HandlerExplorer).explore();
  return app.get(HandlerRegistry);
}

@Injectable()
export class Timers {
  readonly label = 'timers';

  @OnDelay('test.a')
  a(delay: Delay<'test.a'>, ctx: DelayContext): void {
    calls.push([this.label, delay, ctx]);
  }

  @OnDelay('test.b', { transactional: true, timeout: '2m', concurrency: 3, maxAttempts: 1 })
  @OnDelay('test.c')
  async several(): Promise<void> {
    await Promise.reject(new Error('late'));
  }

  @OnDelay('test.sync')
  throwsAtOnce(): void {
    throw new Error('at once');
  }

  notAHandler(): void {}
}

export const DELAY: Delay = {
  id: '7',
  name: 'test.a',
  key: null,
  group: null,
  headers: {},
  payload: { n: 1 },
  dueAt: new Date(0),
  createdAt: new Date(0),
  attempt: 1,
  maxAttempts: 10,
  latenessMs: 0,
};

export const CTX: DelayContext = { signal: new AbortController().signal };
