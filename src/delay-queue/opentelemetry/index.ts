import type { DelayTelemetry } from '../core/index.js';
import { Observer } from './observer.js';

/**
 * Makes spans and metrics of delays, through `@opentelemetry/api`: whatever SDK the application has
 * set up receives them, and without one nothing is recorded.
 *
 * ```ts
 * DelayQueueModule.forRoot({ telemetry: openTelemetry() })
 * ```
 *
 * A delay carries `traceparent` and `tracestate` in its headers, so that its attempts belong to the
 * trace in which it was scheduled, on any node and after any time.
 * @returns the option `telemetry`, for one module
 */
export const openTelemetry = (): DelayTelemetry => new Observer();
