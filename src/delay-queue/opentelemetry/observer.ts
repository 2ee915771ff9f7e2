import { type Attributes, context, diag, metrics, type Span, trace } from '@opentelemetry/api';
import {
  type DelayAttemptMessage,
  type DelayChannelMap,
  delayChannels,
  type DelayHeaders,
  type DelayMessage,
  type DelayTelemetry,
  type ObservedNode,
  type TracedOperations,
} from '../core/index.js';
import { classifyError } from './errors.js';
import { Metrics } from './metrics.js';
import { ATTRIBUTES, SYSTEM } from './names.js';
import {
  abandon,
  type CallMessage,
  endAttempt,
  endCall,
  inside,
  isFailed,
  processOperation,
  startAttempts,
  startCall,
} from './spans.js';
import { injectContext } from './trace-context.js';

/** What has a span, from its start to the end of all its messages. */
interface OpenSpan {
  span: Span;
  beganAtMs: number;
  /** Delays of a batch that have not ended. */
  left: number;
}

/** What is registered in this process, for all copies of `@opentelemetry/api` 1. */
type Registered = { version: string; trace?: object; metrics?: object } | undefined;

/** How old the backlog may be that a reader of metrics gets, while the node works. */
const REFRESH_MS = 10_000;

const CALLS = ['schedule', 'cancel', 'reschedule'] as const;

/** The statements of the loop, each with the rows that it is about. */
const STATEMENTS = {
  claim: ({ claimed = 0 }: DelayChannelMap['claim']) => claimed,
  load: ({ count }: DelayChannelMap['load']) => count,
  scan: ({ count }: DelayChannelMap['scan']) => count,
  complete: ({ written = 0 }: DelayChannelMap['complete']) => written,
};

/** Makes spans and metrics of what the nodes of one `openTelemetry()` do. */
export class Observer implements DelayTelemetry {
  readonly #metrics = new Metrics();
  readonly #open = new Map<DelayMessage, OpenSpan>();

  /** A copy of the API uses what an older one has registered only up to that one's minor version. */
  advice(): string | undefined {
    const found = Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1')) as Registered;
    const hidden = found?.trace !== undefined && found.trace !== trace.getTracerProvider();
    if (!hidden && (found?.metrics === undefined || found.metrics === metrics.getMeterProvider())) {
      return undefined;
    }
    return (
      `the SDK or agent has registered @opentelemetry/api ${found?.version}, and nestjs-delay-queue finds a newer one, for ` +
      `which that does not exist: delays have no spans, headers and metrics. Install @opentelemetry/api@${found?.version}`
    );
  }

  observe(node: ObservedNode): () => void {
    let refreshedAtMs = -Infinity;
    const refresh = ({ node: name }: DelayMessage): void => {
      const nowMs = performance.now();
      if (name !== node.name || nowMs < refreshedAtMs + REFRESH_MS) return;
      refreshedAtMs = nowMs;
      node.refresh();
    };
    const offs = [
      heard('load', refresh),
      heard('schedule', refresh),
      ...CALLS.map((call) => heard(call, (message) => this.#callEnded(call, message))),
      heard('attempt', (message) => this.#attemptEnded(message)),
      heard('skipped', ({ node: of, name, count }) => {
        if (of === node.name) this.#metrics.count.skipped.add(count, name);
      }),
      ...typedKeys(STATEMENTS).map((statement) =>
        heard(statement, (message) => {
          if (message.node === node.name) this.#answered(statement, message);
        }),
      ),
    ];
    reportingFaults(() => this.#metrics.watch(node));
    return () => {
      for (const off of offs) off();
      reportingFaults(() => this.#metrics.leave(node));
      for (const [message, { span }] of this.#open) {
        if (message.node !== node.name) continue;
        this.#open.delete(message);
        reportingFaults(() => abandon(span));
      }
    };
  }

  runCall<Operation extends keyof TracedOperations, Result>(
    operation: Operation,
    message: TracedOperations[Operation],
    run: (headers?: DelayHeaders) => Result,
  ): Result {
    const started = reportingFaults(() => startCall(operation, message));
    if (started === undefined) return run();
    const { span, carried } = started;
    this.#open.set(message, { span, beganAtMs: performance.now(), left: 1 });
    const headers = reportingFaults(() => injectContext(carried));
    return context.with(inside(span), run, undefined, headers);
  }

  runAttempts<Result>(messages: readonly DelayAttemptMessage[], run: () => Result): Result {
    const started = reportingFaults(() => startAttempts(messages));
    if (started === undefined) return run();
    const { span, inside: within } = started;
    const open = { span, beganAtMs: performance.now(), left: messages.length };
    for (const message of messages) this.#open.set(message, open);
    reportingFaults(() => this.#countStarted(messages));
    return context.with(within, run);
  }

  #countStarted(messages: readonly DelayAttemptMessage[]): void {
    const { count, histograms } = this.#metrics;
    for (const message of messages) {
      const operation = processOperation(message);
      count.consumed.add(1, operation, message.name);
      // A later attempt begins when its back-off is over, and that is not late.
      if (message.onDead || message.attempt > 1) continue;
      const of = { [ATTRIBUTES.destination]: message.name };
      histograms.lateness.record(message.latenessMs / 1_000, of);
    }
  }

  #callEnded(operation: keyof TracedOperations, message: CallMessage): void {
    const open = this.#ended(message);
    if (open === undefined) return;
    endCall(open.span, message);
    const { count, histograms } = this.#metrics;
    const { name, error } = message;
    const type = error === undefined ? undefined : classifyError(error);
    const seconds = (performance.now() - open.beganAtMs) / 1_000;
    histograms.operationDuration.record(seconds, about(operation, name, type));
    if (operation === 'schedule') {
      count.sent.add(message.count, operation, name ?? undefined, type);
    }
  }

  #attemptEnded(message: DelayAttemptMessage): void {
    const open = this.#ended(message);
    if (open === undefined) return;
    endAttempt(open.span, message);
    if (open.left === 0) open.span.end();
    const { name, outcome, error, durationMs } = message;
    const { count, histograms } = this.#metrics;
    const operation = processOperation(message);
    count.attempts.add(1, operation, name, outcome);
    // One call, one duration.
    if (open.left > 0) return;
    const type = isFailed(outcome) ? classifyError(error ?? outcome) : undefined;
    // NaN: the handler was not called.
    if (durationMs !== undefined && durationMs >= 0) {
      histograms.processDuration.record(durationMs / 1_000, about(operation, name, type));
    }
  }

  #answered<Name extends keyof typeof STATEMENTS>(
    statement: Name,
    message: DelayChannelMap[Name],
  ): void {
    const { count } = this.#metrics;
    const { error } = message;
    count.statements.add(1, statement, error === undefined ? undefined : classifyError(error));
    const rowsOf = STATEMENTS[statement] as (message: DelayChannelMap[Name]) => number;
    const rows = rowsOf(message);
    if (rows > 0) count.statementRows.add(rows, statement);
  }

  /** @returns what it was part of; undefined: of a node that is not observed here */
  #ended(message: DelayMessage): OpenSpan | undefined {
    const open = this.#open.get(message);
    if (open === undefined) return undefined;
    this.#open.delete(message);
    open.left -= 1;
    return open;
  }
}

function heard<Name extends keyof DelayChannelMap>(
  name: Name,
  end: (message: DelayChannelMap[Name]) => void,
): () => void {
  const { asyncEnd } = delayChannels[name];
  const subscriber = (message: unknown): void => end(message as DelayChannelMap[Name]);
  asyncEnd.subscribe(subscriber);
  return () => {
    asyncEnd.unsubscribe(subscriber);
  };
}

function about(operation: string, name: string | null, errorType?: string): Attributes {
  const of: Attributes = { [ATTRIBUTES.system]: SYSTEM, [ATTRIBUTES.operationName]: operation };
  if (name !== null) of[ATTRIBUTES.destination] = name;
  if (errorType !== undefined) of[ATTRIBUTES.errorType] = errorType;
  return of;
}

/** An SDK with a fault must not cost a delay: its error goes to OpenTelemetry's own log. */
function reportingFaults<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    diag.error('nestjs-delay-queue cannot report', error);
    return undefined;
  }
}

const typedKeys = <Key extends string>(of: Record<Key, unknown>): Key[] => Object.keys(of) as Key[];
