import { expect, it } from '@jest/globals';
import { createTraceState, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import * as fc from 'fast-check';
import {
  extractContext,
  injectContext,
} from '../../../src/delay-queue/opentelemetry/trace-context.js';

const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));

/** W3C allows a key once; of two, OpenTelemetry's API keeps the first and its core the last. */
const states = fc
  .uniqueArray(
    fc.tuple(
      fc.stringMatching(/^[a-z][a-z\d_*/-]{0,20}$/),
      fc.stringMatching(/^[!-+\--<>-~]{1,20}$/),
    ),
    { selector: ([key]) => key, maxLength: 40 },
  )
  .map((members) => members.map(([key, value]) => `${key}=${value}`).join(','));

const contexts: fc.Arbitrary<SpanContext> = fc
  .record({
    traceId: hex(32),
    spanId: hex(16),
    // From 16 on, OpenTelemetry writes three digits.
    traceFlags: fc.integer({ min: 0, max: 15 }),
    state: states,
  })
  .map(({ state, ...context }) => ({
    ...context,
    ...(state !== '' && { traceState: createTraceState(state) }),
  }));

/** OpenTelemetry's own reading and writing of the same headers. */
const oracle = new W3CTraceContextPropagator();
const setter = {
  set: (carrier: object, key: string, text: string) => void Reflect.set(carrier, key, text),
};
const getter = {
  get: (carrier: Record<string, string>, key: string) => carrier[key],
  keys: (carrier: object) => Object.keys(carrier),
};

const plain = (context: SpanContext | undefined) =>
  context && { ...context, traceState: context.traceState?.serialize() };

it('is written as OpenTelemetry writes it, and a state that is too long is left out', () => {
  fc.assert(
    fc.property(contexts, (context) => {
      const wanted: Record<string, string> = {};
      oracle.inject(trace.setSpanContext(ROOT_CONTEXT, context), wanted, setter);
      if ((wanted['tracestate'] ?? '').length > 512) delete wanted['tracestate'];
      expect(injectContext(context) ?? {}).toEqual(wanted);
    }),
  );
});

const PARTS = [
  '00',
  'ff',
  '01',
  '-',
  'x',
  '0'.repeat(32),
  '0'.repeat(16),
  'ab'.repeat(16),
  'cd'.repeat(8),
];
const likely = fc
  .tuple(
    fc.constantFrom('00', '01', 'ff', 'FF', ''),
    fc.oneof(hex(32), fc.constant('0'.repeat(32))),
    fc.oneof(hex(16), fc.constant('0'.repeat(16))),
    fc.oneof(hex(2), fc.constant('1')),
    fc.constantFrom([], [''], ['more']),
  )
  .map(([version, traceId, spanId, flags, more]) =>
    [version, traceId, spanId, flags, ...more].join('-'),
  );
const traceparents = fc.oneof(
  likely,
  fc.array(fc.constantFrom(...PARTS), { maxLength: 8 }).map((parts) => parts.join('')),
  fc.string(),
);

it('is read as OpenTelemetry reads it, whatever stands in the headers', () => {
  fc.assert(
    fc.property(
      traceparents,
      fc.option(fc.oneof(states, fc.string()), { nil: undefined }),
      (traceparent, tracestate) => {
        const headers = { traceparent, ...(tracestate !== undefined && { tracestate }) };
        const read = oracle.extract(ROOT_CONTEXT, headers, getter);
        const wanted = plain(trace.getSpanContext(read));
        const found = plain(extractContext(headers));
        if (found?.traceState === '') delete found.traceState;
        if (wanted?.traceState === '') delete wanted.traceState;
        expect(found).toEqual(wanted);
      },
    ),
    { numRuns: 1_000 },
  );
});

it('is read as it was written, with all eight flags', () => {
  const context = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), traceFlags: 255 };
  expect(extractContext(injectContext(context) ?? {})).toEqual({ ...context, isRemote: true });
});
