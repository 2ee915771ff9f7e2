import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { diag, DiagLogLevel, metrics, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { DelayAttemptMessage } from 'nestjs-delay-queue';
import { delayChannels, publishEnd } from '../../../src/delay-queue/core/api/channels.js';
import { Observer } from '../../../src/delay-queue/opentelemetry/observer.js';

const exporter = new InMemorySpanExporter();
let off: () => void;
let observer: Observer;
const refresh = jest.fn();

const figures = () => {
  throw new Error('no reader asks');
};

beforeEach(() => {
  observer = new Observer();
  off = observer.observe({ name: 'here', figures, reasons: () => [], refresh });
});

afterEach(() => {
  off();
  exporter.reset();
  refresh.mockClear();
  for (const api of [trace, metrics, diag]) api.disable();
});

const messageOf = (more: Partial<DelayAttemptMessage> = {}): DelayAttemptMessage => ({
  node: 'here',
  id: '1',
  name: 'test.runs',
  key: null,
  group: null,
  headers: {},
  attempt: 1,
  maxAttempts: 10,
  latenessMs: 1,
  batch: 1,
  onDead: false,
  recurring: false,
  ...more,
});

const record = (): void => {
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
};

it('a call that is open when its node stops ends with the node, and one of another does not', () => {
  record();
  const elsewhere = messageOf({ node: 'elsewhere' });
  for (const message of [messageOf(), elsewhere]) observer.runAttempts([message], () => {});
  expect(exporter.getFinishedSpans()).toEqual([]);
  off();
  expect(exporter.getFinishedSpans()).toEqual([
    expect.objectContaining({ status: { code: 2, message: 'the node stopped' } }),
  ]);
});

it('a batch ends once all its delays have, and has failed if one has', () => {
  record();
  const batch = [1, 2].map((id) => messageOf({ id: String(id), batch: 2 }));
  observer.runAttempts(batch, () => {});
  const [first, second] = batch as [DelayAttemptMessage, DelayAttemptMessage];
  Object.assign(first, { outcome: 'dead', error: new Error('no') });
  publishEnd(delayChannels.attempt, first);
  expect(exporter.getFinishedSpans()).toEqual([]);
  Object.assign(second, { outcome: 'completed' });
  publishEnd(delayChannels.attempt, second);
  // A second report of the same is none.
  publishEnd(delayChannels.attempt, second);
  const [span, ...others] = exporter.getFinishedSpans();
  expect([span?.status, others]).toEqual([{ code: 2, message: 'Error: no' }, []]);
});

it.each([
  ['trace', 'getTracer'],
  ['metrics', 'getMeter'],
] as const)('an SDK whose %s are broken costs no call and no handler', (api, method) => {
  const errors = jest.fn();
  const log = { error: errors, warn() {}, info() {}, debug() {}, verbose() {} };
  diag.setLogger(log, { logLevel: DiagLogLevel.ERROR });
  const broken = {
    [method]: () => {
      throw new Error('of the SDK');
    },
  };
  if (api === 'trace') trace.setGlobalTracerProvider(broken as never);
  else metrics.setGlobalMeterProvider(broken as never);
  const call = { node: 'here', name: 'test.runs', key: null, group: null, headers: {}, count: 1 };
  expect(observer.runCall('schedule', call, () => 'called')).toBe('called');
  expect(observer.runAttempts([messageOf()], () => 'ran')).toBe('ran');
  expect(errors).toHaveBeenCalledWith(expect.stringContaining('cannot report'), expect.anything());
});

it('a span that cannot be read costs the trace, and no call', () => {
  const span = trace.wrapSpanContext({ traceId: '', spanId: '', traceFlags: 0 });
  span.spanContext = () => {
    throw new Error('of the SDK');
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: () => span }) } as never);
  const call = { node: 'here', name: 'test.runs', key: null, group: null, headers: {}, count: 1 };
  const run = jest.fn((headers?: object) => headers);
  expect(observer.runCall('schedule', call, run)).toBeUndefined();
  expect(run).toHaveBeenCalledTimes(1);
});

describe('what an SDK with another copy of the API has registered', () => {
  const COPY = Symbol.for('opentelemetry.js.api.1');

  it.each([
    ['none has', undefined, false],
    ['this copy can use it', { version: '1.9.9', trace: {}, metrics: {} }, false],
    ['it is too old, for spans', { version: '1.8.0', trace: {} }, true],
    ['it is too old, for metrics alone', { version: '1.8.0', metrics: {} }, true],
  ])('is advised of: %s', (_, registered, isAdvised) => {
    Reflect.set(globalThis, COPY, registered);
    const advice = observer.advice();
    Reflect.deleteProperty(globalThis, COPY);
    expect(advice?.includes('Install @opentelemetry/api@1.8.0') ?? false).toBe(isAdvised);
  });

  it('is none when its own has', () => {
    record();
    expect(observer.advice()).toBeUndefined();
  });
});

it('what a handler throws is thrown, once', () => {
  const run = jest.fn(() => {
    throw new Error('of the handler');
  });
  expect(() => observer.runAttempts([messageOf()], run)).toThrow('of the handler');
  expect(run).toHaveBeenCalledTimes(1);
});

it.each(['load', 'schedule'] as const)(
  'a %s of its node has the backlog fetched, at most once in ten seconds',
  (channel) => {
    const message = { node: 'here', count: 1 };
    const report = (more = {}): void =>
      publishEnd<never>(delayChannels[channel] as never, { ...message, ...more } as never);
    report({ node: 'elsewhere' });
    expect(refresh).not.toHaveBeenCalled();
    report();
    report();
    expect(refresh).toHaveBeenCalledTimes(1);
    off();
    report();
    expect(refresh).toHaveBeenCalledTimes(1);
  },
);

it('errors that cannot be read are of another type', () => {
  record();
  const unreadable = new Proxy(new Error('x'), {
    get: () => {
      throw new Error('no');
    },
  });
  const messages = [unreadable, 'not a name', { code: 7, name: '' }, null].map((error, index) =>
    messageOf({ id: String(index), outcome: 'retrying', error }),
  );
  for (const message of messages) {
    observer.runAttempts([message], () => {});
    publishEnd(delayChannels.attempt, message);
  }
  const types = exporter.getFinishedSpans().map(({ attributes }) => attributes['error.type']);
  expect(types).toEqual(['_OTHER', '_OTHER', '_OTHER', 'retrying']);
});
