import { Inject, Injectable } from '@nestjs/common';
import { DelayEvents } from './api/events.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from './config/options.js';
import { DelayHealth } from './delay.health.js';

/** Has the option `telemetry` observe this node, from before the first call until it has stopped. */
@Injectable()
export class TelemetryStart {
  constructor(
    @Inject(RESOLVED_OPTIONS) { telemetry, nodeName: name }: ResolvedOptions,
    events: DelayEvents,
    health: DelayHealth,
  ) {
    if (telemetry === undefined) return;
    const off = telemetry.observe({
      name,
      figures: () => health.known(),
      reasons: () => health.knownReasons(),
      refresh: () => health.refresh(),
    });
    events.once('stopped', off);
  }
}
