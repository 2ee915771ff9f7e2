import { context, metrics, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { type DelayChannelName, delayChannels } from 'nestjs-delay-queue';

/** Takes the spans as one that sends them, and drops them. */
const NOWHERE: SpanExporter = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: () => Promise.resolve(),
};

/** As an application sets it up, with every span recorded, and nothing sent. */
export function startSdk(): void {
  if (trace.getTracerProvider() instanceof BasicTracerProvider) return;
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const spanProcessors = [new BatchSpanProcessor(NOWHERE)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
  const readers = [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000 })];
  metrics.setGlobalMeterProvider(new MeterProvider({ readers }));
}

/** A subscriber of all channels that does nothing. */
export function hearChannels(): void {
  for (const name of Object.keys(delayChannels) as DelayChannelName[]) {
    for (const step of ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const) {
      delayChannels[name][step].subscribe(() => {});
    }
  }
}
