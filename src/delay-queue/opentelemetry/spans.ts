import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  type Link,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import type { AttemptEnd, DelayAttemptMessage, TracedOperations } from '../core/index.js';
import { classifyError, spanException } from './errors.js';
import { ATTRIBUTES, SCOPE, SYSTEM } from './names.js';
import { chained, extractContext, isChainedTrace } from './trace-context.js';

let known: { provider: TracerProvider; tracer: Tracer } | undefined;

/** The current provider's tracer. Its SDK would build a lookup text on every call. */
function tracer(): Tracer {
  const global = trace.getTracerProvider();
  const provider = global instanceof ProxyTracerProvider ? global.getDelegate() : global;
  if (known?.provider !== provider) known = { provider, tracer: provider.getTracer(SCOPE) };
  return known.tracer;
}

/** Ends of an attempt that are failures, or leave it without effect against its handler's will. */
const FAILED: ReadonlySet<AttemptEnd> = new Set<AttemptEnd>([
  'retrying',
  'split',
  'unreadable',
  'dead',
  'exhausted',
  'lost',
]);

export const isFailed = (outcome: AttemptEnd | undefined): boolean =>
  outcome !== undefined && FAILED.has(outcome);

export type CallMessage = TracedOperations[keyof TracedOperations];

/** In the context of a handler: its names, and whether a handler has scheduled its delay. */
const RUNNING = createContextKey('nestjs-delay-queue running');

interface RunningCall {
  names: readonly string[];
  isChained: boolean;
}

/**
 * The span of a call of `DelayService`, a child of what is active. Delays that schedule themselves,
 * or each other, would make one endless trace: there the call begins a trace, with a link.
 * @returns the span, and the context that a delay carries
 */
export function startCall(
  operation: keyof TracedOperations,
  message: CallMessage,
): { span: Span; carried: SpanContext } {
  const { name, key, node } = message;
  const active = context.active();
  const isSchedule = operation === 'schedule';
  const attributes: Attributes = {
    [ATTRIBUTES.system]: SYSTEM,
    [ATTRIBUTES.operationName]: operation,
    [ATTRIBUTES.clientId]: node,
  };
  if (isSchedule) attributes[ATTRIBUTES.operationType] = 'send';
  if (name !== null) attributes[ATTRIBUTES.destination] = name;
  if (key !== null) attributes[ATTRIBUTES.key] = key;
  if (message.count > 1) attributes[ATTRIBUTES.batchCount] = message.count;
  if ('group' in message && message.group !== null) attributes[ATTRIBUTES.group] = message.group;
  const options: SpanOptions = {
    kind: isSchedule ? SpanKind.PRODUCER : SpanKind.CLIENT,
    attributes,
  };
  const running = isSchedule ? (active.getValue(RUNNING) as RunningCall | undefined) : undefined;
  const isAgain =
    running?.isChained || (running && (name === null || running.names.includes(name)));
  if (isAgain) options.links = [{ context: trace.getSpanContext(active) as SpanContext }];
  const title = spanName(operation, name);
  const span = tracer().startSpan(title, options, isAgain ? ROOT_CONTEXT : active);
  const its = span.spanContext();
  return { span, carried: running === undefined || isAgain ? its : chained(its) };
}

export function endCall(span: Span, { verdict, id, error }: CallMessage): void {
  if (verdict !== undefined) span.setAttribute(ATTRIBUTES.verdict, verdict);
  if (id !== undefined) span.setAttribute(ATTRIBUTES.messageId, id);
  if (error !== undefined) fail(span, error);
  span.end();
}

/**
 * The span of one call of a handler. The span that scheduled a delay is its parent, hours later and
 * on another node. A batch has many of them, and a delay that recurs would make one endless trace of
 * all its runs: those have links instead.
 */
export function startAttempts(messages: readonly DelayAttemptMessage[]): {
  span: Span;
  inside: Context;
} {
  const [first] = messages as readonly [DelayAttemptMessage];
  const operation = processOperation(first);
  const isParent = messages.length === 1 && !first.recurring;
  const parent = isParent ? extractContext(first.headers) : undefined;
  const outside = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
  const options: SpanOptions = {
    kind: SpanKind.CONSUMER,
    attributes: attemptAttributes(messages, operation),
  };
  if (!isParent) options.links = messages.flatMap(producerLinks);
  const span = tracer().startSpan(spanName(operation, first.name), options, outside);
  const names = messages.map(({ name }) => name);
  const running: RunningCall = {
    names,
    isChained: parent !== undefined && isChainedTrace(first.headers),
  };
  return { span, inside: trace.setSpan(outside, span).setValue(RUNNING, running) };
}

/** `@OnDeadDelay` is told apart from attempts of the delay. */
export const processOperation = ({ onDead }: DelayAttemptMessage): string =>
  onDead ? 'process_dead' : 'process';

function attemptAttributes(
  messages: readonly DelayAttemptMessage[],
  operation: string,
): Attributes {
  const [first] = messages as readonly [DelayAttemptMessage];
  const attributes: Attributes = {
    [ATTRIBUTES.system]: SYSTEM,
    [ATTRIBUTES.operationName]: operation,
    [ATTRIBUTES.operationType]: 'process',
    [ATTRIBUTES.destination]: first.name,
    [ATTRIBUTES.clientId]: first.node,
  };
  if (messages.length > 1) return { ...attributes, [ATTRIBUTES.batchCount]: messages.length };
  attributes[ATTRIBUTES.messageId] = first.id;
  attributes[ATTRIBUTES.attempt] = first.attempt;
  attributes[ATTRIBUTES.lateness] = first.latenessMs / 1_000;
  if (first.key !== null) attributes[ATTRIBUTES.key] = first.key;
  if (first.group !== null) attributes[ATTRIBUTES.group] = first.group;
  return attributes;
}

function producerLinks({ headers, id }: DelayAttemptMessage): Link[] {
  const from = extractContext(headers);
  return from === undefined ? [] : [{ context: from, attributes: { [ATTRIBUTES.messageId]: id } }];
}

/** One of the delays of the span has ended. */
export function endAttempt(span: Span, { outcome, error, batch }: DelayAttemptMessage): void {
  if (batch === 1 && outcome !== undefined) span.setAttribute(ATTRIBUTES.outcome, outcome);
  if (isFailed(outcome)) fail(span, error ?? outcome);
}

/** The node stops, and never learned how the call ended. */
export function abandon(span: Span): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'the node stopped' });
  span.end();
}

function fail(span: Span, error: unknown): void {
  const exception = spanException(error);
  span.setAttribute(ATTRIBUTES.errorType, classifyError(error));
  span.recordException(exception);
  span.setStatus({ code: SpanStatusCode.ERROR, message: exception.message });
}

const spanName = (operation: string, name: string | null): string =>
  name === null ? operation : `${operation} ${name}`;

/** Where what a call does belongs to its span. */
export const inside = (span: Span): Context => trace.setSpan(context.active(), span);
