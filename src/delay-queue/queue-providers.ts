import { type FactoryProvider, Inject, Injectable, type Provider, type Type } from '@nestjs/common';
import { DelayEvents } from './core/api/events.js';
import { DelayClient } from './core/client/delay-client.js';
import {
  GIVEN_OPTIONS,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
  resolveOptions,
} from './core/config/options.js';
import { EVENTS, HEALTH, QUEUE, WHEEL } from './core/config/queue-names.js';
import { DATA_SOURCE, DATA_SOURCE_PROVIDER } from './core/database/chosen-data-source.js';
import { Engine } from './core/engine/engine.js';
import { DISCOVERY, NestEnhancers } from './core/handlers/enhancers.js';
import { HandlerExplorer } from './core/handlers/handler.explorer.js';
import { HandlerRegistry } from './core/handlers/handler.registry.js';
import { Invoker } from './core/handlers/invoker.js';
import { DelayAdmin } from './core/module/delay.admin.js';
import { DelayLog } from './core/module/delay.log.js';
import { DelayService } from './core/module/delay.service.js';
import { DelayTrace } from './core/module/delay.trace.js';
import { DelayWorker } from './core/module/delay.worker.js';
import { getDelaysToken } from './core/module/inject-delays.js';
import { ALL_SERVICES_PROVIDER } from './core/module/queues.js';
import { WheelAlarm } from './core/timer-wheel/wheel-alarm.js';
import { WheelService } from './core/timer-wheel/wheel.service.js';
import { DelayHealth } from './ops/delay.health.js';

/** What applications inject. */
export const SERVICES: Type<unknown>[] = [
  DelayService,
  DelayAdmin,
  DelayHealth,
  DelayWorker,
  WheelService,
  DelayEvents,
];

/** Everything of one queue. */
export const queueProviders = (queue: string): Provider[] => [
  DATA_SOURCE_PROVIDER,
  { provide: QUEUE, useValue: queue },
  { provide: RESOLVED_OPTIONS, inject: [GIVEN_OPTIONS, QUEUE], useFactory: resolveOptions },
  ALL_SERVICES_PROVIDER,
  DISCOVERY,
  DelayLog,
  DelayTrace,
  Engine,
  CLIENT,
  HandlerExplorer,
  HandlerRegistry,
  Invoker,
  NestEnhancers,
  TelemetryStart,
  WheelAlarm,
  ...SERVICES.map((service) => ({
    provide: getDelaysToken(queue, service),
    useClass: service,
  })),
  { provide: EVENTS, useExisting: getDelaysToken(queue, DelayEvents) },
  { provide: HEALTH, useExisting: getDelaysToken(queue, DelayHealth) },
  { provide: WHEEL, useExisting: getDelaysToken(queue, WheelService) },
];

/** Has the option `telemetry` observe this node, from before the first call until it has stopped. */
@Injectable()
class TelemetryStart {
  constructor(
    @Inject(RESOLVED_OPTIONS) { telemetry, nodeName: name }: ResolvedOptions,
    @Inject(EVENTS) events: DelayEvents,
    @Inject(HEALTH) health: DelayHealth,
  ) {
    if (telemetry === undefined) return;
    const off = telemetry.observe({
      name,
      figures: () => health.known(),
      reasons: () => health.knownReasons(),
      refresh: () => health.refresh(),
    });
    events.once('stopped', off);
    events.once('ready', () => {
      const message = telemetry.advice?.();
      if (message !== undefined) events.emit('advice', { message });
    });
  }
}

const CLIENT: FactoryProvider<DelayClient> = {
  provide: DelayClient,
  inject: [DATA_SOURCE, Engine, RESOLVED_OPTIONS, EVENTS],
  useFactory: (...given: ConstructorParameters<typeof DelayClient>) => new DelayClient(...given),
};
