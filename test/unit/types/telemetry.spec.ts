import { expect, it } from '@jest/globals';
import type {
  DelayChangeMessage,
  DelayFigures,
  DelayQueueOptions,
  DelayScheduleMessage,
  DelayTelemetry,
  ObservedNode,
  TracedOperations,
} from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { fits, same } from '../../support/same-type.js';

function made(): void {
  fits<DelayQueueOptions>({ telemetry: openTelemetry() });
  same<ReturnType<typeof openTelemetry>, DelayTelemetry>(true);
  same<keyof DelayTelemetry, 'advice' | 'observe' | 'runCall' | 'runAttempts'>(true);
  same<TracedOperations['schedule'], DelayScheduleMessage>(true);
  same<TracedOperations['cancel' | 'reschedule'], DelayChangeMessage>(true);
  same<ReturnType<ObservedNode['figures']>, DelayFigures>(true);
  // @ts-expect-error -- it is called
  fits<DelayQueueOptions>({ telemetry: openTelemetry });
  // @ts-expect-error -- it takes nothing: an SDK is global
  openTelemetry({});
}

it('telemetry is what openTelemetry returns', () => {
  expect(made).toBeInstanceOf(Function);
});
