import { afterEach } from '@jest/globals';
import type { DynamicModule, Provider, Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import type { Delay, DelayContext } from '../../../src/delay-queue/core/api/delay.js';
import { DelayEvents } from '../../../src/delay-queue/core/api/events.js';
import { HandlerExplorer } from '../../../src/delay-queue/core/handlers/handler.explorer.js';
import { Invoker } from '../../../src/delay-queue/core/handlers/invoker.js';
import { HandlerRegistry } from '../../../src/delay-queue/core/handlers/handler.registry.js';
import { NestEnhancers } from '../../../src/delay-queue/core/handlers/enhancers.js';
import type { DelayQueueOptions } from '../../../src/delay-queue/core/api/options.js';
import { RESOLVED_OPTIONS, resolveOptions } from '../../../src/delay-queue/core/config/options.js';
import { EVENTS } from '../../../src/delay-queue/core/config/queue-names.js';
import '../../support/delay-payloads.js';

/** What was called in a test, in order. */
export const calls: unknown[] = [];

afterEach(() => {
  calls.length = 0;
});

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
  const app = await Test.createTestingModule({
    imports: [DiscoveryModule, ...(more.imports ?? [])],
    controllers: more.controllers ?? [],
    providers: [
      HandlerExplorer,
      HandlerRegistry,
      Invoker,
      NestEnhancers,
      { provide: EVENTS, useValue: more.events ?? new DelayEvents() },
      { provide: RESOLVED_OPTIONS, useValue: resolveOptions({ lease: '1m', ...more.options }) },
      ...providers,
    ],
  }).compile();
  await app.init();
  await app.get(HandlerExplorer).explore(['default']);
  return app.get(HandlerRegistry);
}

/** What the start says that does not come about with these providers. */
export async function refusalOf(...given: Parameters<typeof explored>): Promise<string> {
  const error: unknown = await explored(...given).catch((thrown: unknown) => thrown);
  return error instanceof Error ? `${Reflect.get(error, 'code')} ${error.message}` : 'it starts';
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

export const CTX: DelayContext = {
  signal: new AbortController().signal,
  stopRepeating: () => {},
};
