import { createTraceState, isSpanContextValid, type SpanContext } from '@opentelemetry/api';
import type { DelayHeaders } from '../core/index.js';

/*
 * W3C Trace Context, written here and not by the application's propagators: those may add baggage, which
 * is not for a database, and a delay is read by this package alone.
 * https://www.w3.org/TR/trace-context/
 */

const TRACEPARENT = 'traceparent';
const TRACESTATE = 'tracestate';

/** Later versions may have more fields behind the flags. */
const PATTERN = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** A longer one must be cut by whole members, so it is left out. */
const TRACESTATE_LENGTH_MAX = 512;

/** @returns the headers that carry a context; undefined: it has no trace */
export function injectContext(context: SpanContext): DelayHeaders | undefined {
  if (!isSpanContextValid(context)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = context;
  const flags = (traceFlags & 0xff).toString(16).padStart(2, '0');
  const traceparent = `00-${traceId}-${spanId}-${flags}`;
  const tracestate = traceState?.serialize() ?? '';
  const isCarried = tracestate !== '' && tracestate.length <= TRACESTATE_LENGTH_MAX;
  return isCarried
    ? { [TRACEPARENT]: traceparent, [TRACESTATE]: tracestate }
    : { [TRACEPARENT]: traceparent };
}

/** Our member of `tracestate`: a handler has scheduled the delay in its own trace. */
const CHAINED = 'delay-queue';

export const chained = ({ traceState, ...context }: SpanContext): SpanContext => ({
  ...context,
  traceState: (traceState ?? createTraceState()).set(CHAINED, 'chained'),
});

export const isChainedTrace = (headers: DelayHeaders): boolean =>
  createTraceState(headers[TRACESTATE]).get(CHAINED) !== undefined;

/** @returns undefined: the headers carry none, or one that cannot be read */
export function extractContext(headers: DelayHeaders): SpanContext | undefined {
  const found = PATTERN.exec(headers[TRACEPARENT] ?? '');
  if (found === null) return undefined;
  const [, version, traceId, spanId, flags, more] = found as unknown as string[];
  if (version === '00' && more !== undefined) return undefined;
  const context: SpanContext = {
    traceId: traceId as string,
    spanId: spanId as string,
    traceFlags: Number.parseInt(flags as string, 16),
    isRemote: true,
  };
  const state = headers[TRACESTATE];
  if (state !== undefined && state !== '') {
    const given = createTraceState(state);
    // `unset` would also write a key that stands twice anew.
    context.traceState = given.get(CHAINED) === undefined ? given : given.unset(CHAINED);
  }
  return isSpanContextValid(context) ? context : undefined;
}
