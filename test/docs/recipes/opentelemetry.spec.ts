import { readdirSync } from 'node:fs';
import { afterEach, expect, it } from '@jest/globals';
import { context, metrics, trace } from '@opentelemetry/api';
import { AggregationTemporality, InMemoryMetricExporter } from '@opentelemetry/sdk-metrics';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { type DelayName, DelayService, OnDelay } from 'nestjs-delay-queue';
import { until } from '../../support/until.js';
import { readDocument } from '../documents.js';
import { recipe } from '../page.js';
import { COUNTERS, GAUGES, HISTOGRAMS } from '../../support/opentelemetry.js';

afterEach(() => {
  for (const api of [context, metrics, trace]) api.disable();
});

class Closing {
  @OnDelay('order.close' as DelayName)
  close(): void {}
}

it('opentelemetry.md: a delay is in the trace of its caller, and every metric is in the table', async () => {
  const [page, { delayQueue, startSdk }] = await recipe('opentelemetry.md', [
    'observe.ts',
    'main.ts',
  ]);
  const spans = new InMemorySpanExporter();
  const figures = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const sdk = startSdk(spans, figures);
  const app = await page.startWith([delayQueue], [Closing]);
  const delays = app.get(DelayService);
  await delays.schedule('order.close', { orderId: '42' }, { after: 0 });
  const both = await until(
    async () => {
      await sdk.flush();
      return spans.getFinishedSpans();
    },
    (ended) => ended.length === 2,
  );
  expect(both.map(({ name }) => name)).toEqual(['schedule order.close', 'process order.close']);
  const [scheduled, processed] = both;
  expect(processed?.parentSpanContext?.spanId).toBe(scheduled?.spanContext().spanId);
  const exported = figures
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    .map(({ descriptor }) => descriptor.name);
  expect(exported).toContain(HISTOGRAMS.lateness[0]);
  expect(readdirSync(page.blocks.folder)).toContain('sdk.ts');

  const { text } = readDocument('docs/recipes/opentelemetry.md');
  const listed = [...text.matchAll(/^\| `(messaging\.[\w.]+)`/gm)].map(([, name]) => name);
  const all = Object.values({ ...COUNTERS, ...GAUGES, ...HISTOGRAMS });
  expect(new Set(listed)).toEqual(new Set(all.map(([name]) => name)));
});
