import { type Mutant, patch } from './mutant.js';

const OBSERVER = 'opentelemetry/observer.ts';
const SPANS = 'opentelemetry/spans.ts';
const METRICS = 'opentelemetry/metrics.ts';
const CONTEXT = 'opentelemetry/trace-context.ts';
const REPORTS = 'core/worker/attempt-reports.ts';
const spans = ['integration/opentelemetry/spans'];
const figures = ['integration/opentelemetry/metrics'];
const metrics = ['unit/opentelemetry/metrics'];
const observer = ['unit/opentelemetry/observer'];

const contexts = ['integration/engine/contexts'];

/** Ways to break a trace, to count wrongly, and to let an SDK cost a delay. */
export const TELEMETRY: Readonly<Record<string, Mutant>> = {
  'works-where-it-was-woken': {
    about: 'claims, and calls handlers, in the async context of whoever started or woke the engine',
    patches: [
      patch(
        'core/tasks/own-scope.ts',
        'own.runInAsyncScope<unknown, Result>(apart as never, undefined, work)',
        'apart(work)',
      ),
    ],
    tests: contexts,
  },
  'keeps-what-a-listener-enters': {
    about: 'goes on in the async context that a listener of an event has entered',
    patches: [patch('core/tasks/trigger.ts', 'inOwnScope(this.work);', 'this.work();')],
    tests: contexts,
  },
  'hides-its-span-from-the-handler': {
    about: 'runs the handler outside of its span',
    patches: [patch(OBSERVER, 'return context.with(within, run);', 'void within; return run();')],
    tests: spans,
  },
  'loses-the-trace': {
    about: 'stores no context with a delay',
    patches: [patch(OBSERVER, 'run, undefined, headers)', 'run)')],
    tests: spans,
  },
  'carries-the-context-of-the-caller': {
    about: 'makes the span of the request the parent of the attempt',
    patches: [
      patch(
        OBSERVER,
        'injectContext(carried)',
        'injectContext((trace.getActiveSpan() ?? span).spanContext())',
      ),
    ],
    tests: spans,
  },
  'one-endless-trace': {
    about: 'puts all runs of a recurring delay into one trace',
    patches: [patch(SPANS, 'messages.length === 1 && !first.recurring', 'messages.length === 1')],
    tests: spans,
  },
  'schedules-itself-in-one-trace': {
    about: 'keeps delays that schedule themselves in one trace',
    patches: [patch(SPANS, 'running.names.includes(name)', 'false')],
    tests: spans,
  },
  'two-in-one-trace': {
    about: 'keeps delays that schedule each other in one trace',
    patches: [patch(CONTEXT, 'get(CHAINED) !== undefined', "get(CHAINED) === ''")],
    tests: spans,
  },
  'silent-beside-a-newer-api': {
    about: 'does not say that it cannot see the SDK',
    patches: [
      patch(OBSERVER, 'found.trace !== trace.getTracerProvider()', 'found.trace === undefined'),
    ],
    tests: observer,
  },
  'batch-below-its-first': {
    about: 'makes a batch a child of what scheduled its first delay',
    patches: [patch(SPANS, 'messages.length === 1 && !first.recurring', '!first.recurring')],
    tests: spans,
  },
  'failure-looks-well': {
    about: 'shows a failed attempt as a good one',
    patches: [patch(SPANS, "'retrying',\n", '')],
    tests: spans,
  },
  'batch-ends-with-its-first': {
    about: 'ends the span of a batch when its first delay has ended',
    patches: [patch(OBSERVER, 'if (open.left === 0) open.span.end();', 'open.span.end();')],
    tests: observer,
  },
  'forgets-what-is-open': {
    about: 'leaves spans open when the node stops',
    patches: [patch(OBSERVER, 'reportingFaults(() => abandon(span));', '')],
    tests: observer,
  },
  'throws-into-the-engine': {
    about: 'lets an error of the SDK fail an attempt',
    patches: [
      patch(OBSERVER, 'reportingFaults(() => startAttempts(messages))', 'startAttempts(messages)'),
    ],
    tests: observer,
  },
  'keeps-its-instruments': {
    about: 'reports to the meter provider of the start for ever',
    patches: [patch(METRICS, ' && provider === this.#provider', '')],
    tests: figures,
  },
  'asks-with-each-export': {
    about: 'asks the database for the backlog with each export',
    patches: [
      patch('queue-providers.ts', 'health.known()', 'health.figures()'),
      patch('ops/readings.ts', 'const BACKLOG_KEPT_MS = 5_000;', 'const BACKLOG_KEPT_MS = 0;'),
    ],
    tests: figures,
  },
  'counts-those-of-other-nodes': {
    about: "counts another node's statements as its own",
    patches: [patch(OBSERVER, 'if (message.node === node.name) this', 'this')],
    tests: metrics,
  },
  'overdue-for-ever': {
    about: 'leaves the last value of what is overdue no more',
    patches: [patch(METRICS, 'for (const of of before.values())', 'for (const of of [])')],
    tests: metrics,
  },
  'reads-a-node-that-is-gone': {
    about: 'keeps the gauges of a node that has stopped',
    patches: [patch(METRICS, 'this.#nodes.get(node)?.();', '')],
    tests: metrics,
  },
  'keeps-any-number-of-series': {
    about: 'keeps a series for each name that was ever given',
    patches: [patch('opentelemetry/counter.ts', 'this.#series.size >= SERIES_MAX', 'false')],
    tests: ['unit/opentelemetry/counter'],
  },
  'first-dead-letter-is-no-increase': {
    about: 'has no series of an outcome before its first',
    patches: [patch(METRICS, "['completed', 'retrying', 'dead'];", '[];')],
    tests: metrics,
  },
  'gone-database-looks-well': {
    about: 'shows the last reasons of a database that is gone',
    patches: [
      patch(
        'ops/delay.health.ts',
        '...(failed === undefined ? ofBacklog : [databaseGone(failed.error)]),',
        '...ofBacklog,',
      ),
    ],
    tests: ['integration/health'],
  },
  'never-looks-at-the-server': {
    about: 'knows nothing of snapshots, sizes and autovacuum',
    patches: [
      patch('ops/readings.ts', 'of [this.#backlog, this.#server]) now', 'of [this.#backlog]) now'),
    ],
    tests: figures,
  },
  'trusts-any-traceparent': {
    about: 'takes a traceparent that is none',
    patches: [
      patch(
        CONTEXT,
        'return isSpanContextValid(context) ? context : undefined;',
        'return context;',
      ),
    ],
    tests: ['unit/opentelemetry/trace-context'],
  },
  'replaces-the-callers-trace': {
    about: "puts its own trace over the caller's headers",
    patches: [
      patch(
        'core/config/headers.ts',
        'if (names.some((name) => Object.hasOwn(own, name))) return given;',
        '',
      ),
    ],
    tests: ['unit/config/added-headers'],
  },
  'more-headers-than-allowed': {
    about: 'adds headers that no caller could add',
    patches: [patch('core/config/headers.ts', 'if (count <= HEADERS_MAX && ', 'if (')],
    tests: ['unit/config/added-headers'],
  },
  'traces-only-what-is-watched': {
    about: 'runs attempts outside of their spans',
    patches: [patch(REPORTS, 'telemetry === undefined ? run :', 'telemetry !== undefined ? run :')],
    tests: spans,
  },
};
