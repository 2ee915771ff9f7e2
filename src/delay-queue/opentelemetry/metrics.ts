import {
  type Attributes,
  type BatchObservableResult,
  type Meter,
  type MeterProvider,
  metrics,
  type Observable,
} from '@opentelemetry/api';
import type {
  AttemptEnd,
  DelayFigures,
  HealthReason,
  NameFigures,
  ObservedNode,
  OverdueFigures,
} from '../core/index.js';
import { Counter, SERIES_MAX } from './counter.js';
import { ATTRIBUTES, DURATION_SECONDS, LATENESS_SECONDS, METRICS, SCOPE, SYSTEM } from './names.js';

const seconds = (explicitBucketBoundaries: number[]) => ({
  unit: 's',
  advice: { explicitBucketBoundaries },
});

const createHistograms = (meter: Meter) => ({
  processDuration: meter.createHistogram(METRICS.processDuration, {
    ...seconds(DURATION_SECONDS),
    description: 'How long handlers ran',
  }),
  operationDuration: meter.createHistogram(METRICS.operationDuration, {
    ...seconds(DURATION_SECONDS),
    description: 'How long calls of DelayService took',
  }),
  lateness: meter.createHistogram(METRICS.lateness, {
    ...seconds(LATENESS_SECONDS),
    description: 'Start of a first attempt minus due, on the clock of the database',
  }),
});

type Histograms = ReturnType<typeof createHistograms>;

/** By what they count, the attributes of each. */
const createCounters = () => {
  const { operationName, destination, errorType, outcome, statement, system } = ATTRIBUTES;
  const counter = (...names: string[]): Counter => new Counter(names, { [system]: SYSTEM });
  return {
    sent: counter(operationName, destination, errorType),
    consumed: counter(operationName, destination),
    attempts: counter(operationName, destination, outcome),
    skipped: counter(destination),
    statements: counter(statement, errorType),
    statementRows: counter(statement),
  };
};

type Counters = ReturnType<typeof createCounters>;

const COUNTED: Readonly<Record<keyof Counters, { unit: string; description: string }>> = {
  sent: { unit: '{message}', description: 'Delays scheduled' },
  consumed: { unit: '{message}', description: 'Attempts started' },
  attempts: { unit: '{attempt}', description: 'Attempts ended, by outcome' },
  skipped: { unit: '{instant}', description: 'Instants that recurring delays left out' },
  statements: { unit: '{statement}', description: 'Statements of the loop' },
  statementRows: { unit: '{row}', description: 'Rows that they claimed, read or wrote' },
};

const createGauges = (meter: Meter) => {
  const gauge = (name: string, unit: string, description: string): Observable =>
    meter.createObservableGauge(name, { unit, description });
  return {
    running: gauge(METRICS.running, '{attempt}', 'Calls of handlers that run here'),
    concurrency: gauge(METRICS.concurrency, '{attempt}', 'Most that run here at a time'),
    ready: gauge(METRICS.ready, '{message}', 'Due delays that wait for a slot here'),
    watched: gauge(METRICS.watched, '{message}', 'Delays in the timing wheel of this node'),
    loadAge: gauge(METRICS.loadAge, 's', 'Since the last load was answered'),
    overdue: gauge(METRICS.overdue, '{message}', 'Due delays of all nodes, by what holds them'),
    oldestOverdue: gauge(METRICS.oldestOverdue, 's', 'How long the oldest of them has been due'),
    dueSoon: gauge(METRICS.dueSoon, '{message}', 'Delays of all nodes due within a minute'),
    deadLetters: gauge(METRICS.deadLetters, '{message}', 'Dead letters of all nodes'),
    unhealthy: gauge(METRICS.unhealthy, '{reason}', 'Reasons why the node is not up'),
    connections: gauge(METRICS.connections, '{connection}', 'Connections of the engine, by state'),
  };
};

type Gauges = ReturnType<typeof createGauges>;

/**
 * The instruments of whichever meter provider is set now: unlike that for traces, the global one has
 * no proxy, so instruments that were made before an SDK started would stay silent.
 */
export class Metrics {
  readonly count = createCounters();
  #provider: MeterProvider | undefined;
  #histograms: Histograms | undefined;
  #leaveCounters = (): void => {};
  readonly #nodes = new Map<ObservedNode, () => void>();

  get histograms(): Histograms {
    return this.#ofThisProvider();
  }

  #ofThisProvider(): Histograms {
    const provider = metrics.getMeterProvider();
    if (this.#histograms !== undefined && provider === this.#provider) return this.#histograms;
    this.#provider = provider;
    const meter = provider.getMeter(SCOPE);
    const histograms = createHistograms(meter);
    this.#histograms = histograms;
    this.#leaveCounters();
    this.#leaveCounters = observeCounters(meter, this.count);
    for (const [node, leave] of this.#nodes) {
      leave();
      this.#nodes.set(node, gauged(meter, node, this.count));
    }
    return histograms;
  }

  /** Shows the figures of a node until `leave`. */
  watch(node: ObservedNode): void {
    this.#ofThisProvider();
    this.#nodes.set(node, gauged(metrics.getMeterProvider().getMeter(SCOPE), node, this.count));
  }

  leave(node: ObservedNode): void {
    this.#nodes.get(node)?.();
    this.#nodes.delete(node);
  }
}

/** @returns what ends it */
function observeCounters(meter: Meter, counters: Counters): () => void {
  const all = (Object.keys(COUNTED) as (keyof Counters)[]).map((name) => ({
    counter: counters[name],
    instrument: meter.createObservableCounter(METRICS[name], COUNTED[name]),
  }));
  const instruments = all.map(({ instrument }) => instrument);
  const observe = (result: BatchObservableResult): void => {
    for (const { counter, instrument } of all) counter.show(result, instrument);
  };
  meter.addBatchObservableCallback(observe, instruments);
  return () => meter.removeBatchObservableCallback(observe, instruments);
}

/** A counter that begins at one has not increased: the first dead letter would raise no alert. */
const FROM_ZERO: readonly AttemptEnd[] = ['completed', 'retrying', 'dead'];

/** @returns what ends it */
function gauged(
  meter: Meter,
  node: ObservedNode,
  counters: Pick<Counters, 'attempts'>,
): () => void {
  const gauges = createGauges(meter);
  const all = Object.values(gauges);
  const fading = Object.keys(gauges).map((name) => ({
    name: name as keyof Gauges,
    series: new Fading(),
  }));
  const show = (result: BatchObservableResult, values: Values, gone: Gone): void => {
    for (const { name, series } of fading) {
      const observe = (value: number, of: Attributes): void =>
        result.observe(gauges[name], value, { [ATTRIBUTES.system]: SYSTEM, ...of });
      series.show(values[name] ?? [], gone(name), observe);
    }
  };
  const observe = (result: BatchObservableResult): void => {
    const figures = node.figures();
    for (const { name } of figures.names) {
      for (const outcome of FROM_ZERO) counters.attempts.add(0, 'process', name, outcome);
    }
    const isKnown = (name: keyof Gauges): boolean =>
      name !== 'loadAge' && (figures.backlog !== null || !OF_BACKLOG.includes(name));
    show(result, gaugeValues(figures, node.reasons()), (name) => (isKnown(name) ? 0 : Number.NaN));
  };
  const last = (result: BatchObservableResult): void => {
    show(result, {}, () => Number.NaN);
    // Not now: an SDK walks its list of callbacks.
    queueMicrotask(() => meter.removeBatchObservableCallback(last, all));
  };
  meter.addBatchObservableCallback(observe, all);
  return () => {
    meter.removeBatchObservableCallback(observe, all);
    meter.addBatchObservableCallback(last, all);
  };
}

interface Value {
  of: Attributes;
  value: number;
}

type Values = Partial<Record<keyof Gauges, readonly Value[]>>;

/** What a series shows that has no value any more. */
type Gone = (name: keyof Gauges) => number;

/** Known while the database answers. */
const OF_BACKLOG: readonly (keyof Gauges)[] = [
  'overdue',
  'oldestOverdue',
  'dueSoon',
  'deadLetters',
];

const one = (value: number, of: Attributes = {}): Value => ({ value, of });

const ofName = ({ name }: NameFigures): Attributes => ({ [ATTRIBUTES.destination]: name });

/** The figures are those that the node has: showing them waits for nothing. */
function gaugeValues(figures: DelayFigures, reasons: readonly HealthReason[]): Values {
  const { names, ready, watched, loadAgeMs, backlog, connections } = figures;
  return {
    running: names.map((each) => one(each.running, ofName(each))),
    concurrency: names.map((each) => one(each.concurrency, ofName(each))),
    ready: [one(ready)],
    watched: [one(watched)],
    loadAge: loadAgeMs === null ? [] : [one(loadAgeMs / 1_000)],
    connections: Object.entries(connections).map(([state, count]) =>
      one(count, { [ATTRIBUTES.state]: state }),
    ),
    unhealthy: reasons.map((reason) => one(1, reasonAttributes(reason))),
    ...(backlog !== null && {
      dueSoon: [one(backlog.dueSoon)],
      deadLetters: [one(backlog.dead)],
      overdue: backlog.overdue.map((each) => one(each.overdue, overdueAttributes(each))),
      oldestOverdue: backlog.overdue.map((each) =>
        one(each.oldestMs / 1_000, overdueAttributes(each)),
      ),
    }),
  };
}

const overdueAttributes = ({ name, heldBy, isServed }: OverdueFigures): Attributes => ({
  [ATTRIBUTES.destination]: name,
  [ATTRIBUTES.heldBy]: heldBy ?? 'nothing',
  [ATTRIBUTES.served]: isServed,
});

const reasonAttributes = (reason: HealthReason): Attributes => ({
  [ATTRIBUTES.reason]: reason.reason,
  [ATTRIBUTES.status]: reason.status,
  ...('name' in reason && { [ATTRIBUTES.destination]: reason.name }),
});

/** Series that come and go. Left out, an SDK would repeat their last values for ever. */
class Fading {
  readonly #shown = new Map<string, Attributes>();

  /** @param gone what those show that have come before and are not among `values`; NaN: unknown */
  show(
    values: readonly Value[],
    gone: number,
    observe: (value: number, of: Attributes) => void,
  ): void {
    const before = new Map(this.#shown);
    for (const { of, value } of values) {
      const series = Object.values(of).join('\n');
      before.delete(series);
      if (this.#shown.size < SERIES_MAX) this.#shown.set(series, of);
      observe(value, of);
    }
    for (const of of before.values()) observe(gone, of);
  }
}
