import { afterEach, beforeEach } from '@jest/globals';
import { type Attributes, context, metrics, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

export { COUNTERS, GAUGES, HISTOGRAMS } from '../../src/delay-queue/opentelemetry/instruments.js';

/** The SDK as an application sets it up, with exporters in memory. */
export class Sdk {
  #spans!: InMemorySpanExporter;
  #metrics!: InMemoryMetricExporter;
  #tracers!: BasicTracerProvider;
  #meters!: MeterProvider;

  constructor() {
    beforeEach(() => this.start());
    afterEach(() => this.stop());
  }

  start(): void {
    this.#spans = new InMemorySpanExporter();
    this.#metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    this.#tracers = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(this.#spans)],
    });
    const exporter = this.#metrics;
    this.#meters = new MeterProvider({
      readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e9 })],
    });
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(this.#tracers);
    metrics.setGlobalMeterProvider(this.#meters);
  }

  async stop(): Promise<void> {
    for (const api of [context, trace, metrics]) api.disable();
    await this.#tracers.shutdown();
    await this.#meters.shutdown();
  }

  /** Ended spans, as they ended. */
  get spans(): ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  named(name: string): ReadableSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** The last value of each series of a metric. */
  async metric(name: string): Promise<{ attributes: Attributes; value: unknown }[]> {
    this.#metrics.reset();
    await this.#meters.forceFlush();
    const [last] = this.#metrics.getMetrics().slice(-1);
    const found = last?.scopeMetrics
      .filter(({ scope }) => scope.name === 'nestjs-delay-queue')
      .flatMap((scope) => scope.metrics)
      .find(({ descriptor }) => descriptor.name === name);
    return (found?.dataPoints ?? []).map(({ attributes, value }) => ({ attributes, value }));
  }
}

/** As an application's own instrumentation of a request. */
export const inRequest = <Result>(name: string, work: () => Promise<Result>): Promise<Result> =>
  trace.getTracer('test').startActiveSpan(name, { kind: SpanKind.SERVER }, async (span) => {
    try {
      return await work();
    } finally {
      span.end();
    }
  });

/** The span that a span is a child of, of those that are known. */
export const parentOf = (
  { parentSpanContext }: ReadableSpan,
  spans: readonly ReadableSpan[],
): ReadableSpan | undefined =>
  spans.find((span) => span.spanContext().spanId === parentSpanContext?.spanId);
