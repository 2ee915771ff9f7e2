import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { DelayQueueOptions } from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { fencedHandler } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { startTested } from '../testing/support/tested.js';
import { inRequest, parentOf, Sdk } from '../../support/opentelemetry.js';

/** An order is placed in a request, and closed half an hour later, on other nodes. */

const sdk = new Sdk();
let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

let closings = 0;

/** The bank does not answer at the first time. */
const close = (): Promise<void> =>
  closings++ === 0 ? Promise.reject(new Error('the bank is away')) : Promise.resolve();

const start = (nodeName: string) => {
  const options: DelayQueueOptions = { nodeName, telemetry: openTelemetry() };
  const handler = fencedHandler('test.close', close, {
    backoff: { base: '5m', max: '5m', jitter: 0 },
  });
  return startTested(stage, { providers: [handler], options });
};

const path = (span: ReadableSpan): string[] => {
  const parent = parentOf(span, sdk.spans);
  return [span.name, ...(parent === undefined ? [] : path(parent))];
};

it('is one trace, through a failure, to another node and over a restart', async () => {
  const first = await start('first');
  await inRequest('POST /orders', () =>
    first.delays.schedule('test.close', null, { after: '30m', key: '42' }),
  );
  const now = first.testing.now();
  await first.stop();

  const second = await start('second');
  expect(second.testing.now().getTime()).toBeGreaterThanOrEqual(now.getTime());
  await second.testing.advance('31m');
  await second.stop();

  const third = await start('third');
  await third.testing.advance('10m');

  const runs = sdk.named('process test.close');
  expect(runs.map(path)).toEqual([
    ['process test.close', 'schedule test.close', 'POST /orders'],
    ['process test.close', 'schedule test.close', 'POST /orders'],
  ]);
  const told = runs.map(({ attributes }) => [
    String(attributes['messaging.client.id']).split(':')[0],
    attributes['messaging.nestjs_delay_queue.outcome'],
  ]);
  expect(told).toEqual([
    ['second', 'retrying'],
    ['third', 'completed'],
  ]);
  expect(new Set(sdk.spans.map((span) => span.spanContext().traceId)).size).toBe(1);
});
