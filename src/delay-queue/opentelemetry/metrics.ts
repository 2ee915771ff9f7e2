import {
  type Attributes,
  type BatchObservableResult,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api';
import type { AttemptEnd, ObservedNode } from '../core/index.js';
import { Counter, SERIES_MAX } from './counter.js';
import {
  COUNTERS,
  GAUGES,
  gaugeValues,
  type GaugeValues,
  HISTOGRAMS,
  type Value,
} from './instruments.js';
import { ATTRIBUTES, SCOPE, SYSTEM } from './names.js';

type Counters = Record<keyof typeof COUNTERS, Counter>;
type Histograms = Record<keyof typeof HISTOGRAMS, Histogram>;

/**
 * The instruments of whichever meter provider is set now: unlike that for traces, the global one has
 * no proxy, so instruments that were made before an SDK started would stay silent.
 */
export class Metrics {
  readonly count: Counters = each(
    COUNTERS,
    ([, , , ...by]) => new Counter(by, { [ATTRIBUTES.system]: SYSTEM }),
  );
  #provider: MeterProvider | undefined;
  #histograms: Histograms | undefined;
  #leaveCounters = (): void => {};
  readonly #nodes = new Map<ObservedNode, () => void>();

  get histograms(): Histograms {
    const provider = metrics.getMeterProvider();
    if (this.#histograms !== undefined && provider === this.#provider) return this.#histograms;
    this.#provider = provider;
    const meter = provider.getMeter(SCOPE);
    this.#histograms = each(HISTOGRAMS, ([name, unit, description, bounds]) =>
      meter.createHistogram(name, {
        unit,
        description,
        advice: { explicitBucketBoundaries: bounds },
      }),
    );
    this.#leaveCounters();
    this.#leaveCounters = observeCounters(meter, this.count);
    for (const [node, leave] of this.#nodes) {
      leave();
      this.#nodes.set(node, gauged(meter, node, this.count.attempts));
    }
    return this.#histograms;
  }

  /** Shows the figures of a node until `leave`. */
  watch(node: ObservedNode): void {
    void this.histograms;
    const meter = metrics.getMeterProvider().getMeter(SCOPE);
    this.#nodes.set(node, gauged(meter, node, this.count.attempts));
  }

  leave(node: ObservedNode): void {
    this.#nodes.get(node)?.();
    this.#nodes.delete(node);
  }
}

/** The same for each entry of a table. */
const each = <Name extends string, Entry, Made>(
  table: Record<Name, Entry>,
  make: (entry: Entry) => Made,
): Record<Name, Made> =>
  Object.fromEntries(
    Object.entries<Entry>(table).map(([name, entry]) => [name, make(entry)]),
  ) as Record<Name, Made>;

/** @returns what ends it */
function observeCounters(meter: Meter, counters: Counters): () => void {
  const all = Object.entries(COUNTERS).map(([key, [name, unit, description]]) => ({
    counter: counters[key as keyof Counters],
    instrument: meter.createObservableCounter(name, { unit, description }),
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
function gauged(meter: Meter, node: ObservedNode, attempts: Counter): () => void {
  const gauges = each(GAUGES, ([name, unit, description]) => ({
    instrument: meter.createObservableGauge(name, { unit, description }),
    series: new Fading(),
  }));
  const all = Object.values(gauges).map(({ instrument }) => instrument);
  const show = (result: BatchObservableResult, values: Partial<GaugeValues>): void => {
    for (const [name, { instrument, series }] of Object.entries(gauges)) {
      series.show(values[name as keyof GaugeValues], (value, of) =>
        result.observe(instrument, value, { [ATTRIBUTES.system]: SYSTEM, ...of }),
      );
    }
  };
  const observe = (result: BatchObservableResult): void => {
    const figures = node.figures();
    for (const { name } of figures.names) {
      for (const outcome of FROM_ZERO) attempts.add(0, 'process', name, outcome);
    }
    show(result, gaugeValues(figures, node.reasons()));
  };
  const last = (result: BatchObservableResult): void => {
    show(result, {});
    // Not now: an SDK walks its list of callbacks.
    queueMicrotask(() => meter.removeBatchObservableCallback(last, all));
  };
  meter.addBatchObservableCallback(observe, all);
  return () => {
    meter.removeBatchObservableCallback(observe, all);
    meter.addBatchObservableCallback(last, all);
  };
}

/** Series that come and go. Left out, an SDK would repeat their last values for ever. */
class Fading {
  readonly #shown = new Map<string, Attributes>();

  /** @param values what has come before and is not among them is 0; undefined: NaN, not known */
  show(
    values: readonly Value[] | undefined,
    observe: (value: number, of: Attributes) => void,
  ): void {
    const before = new Map(this.#shown);
    for (const { of, value } of values ?? []) {
      const series = Object.values(of).join('\n');
      before.delete(series);
      if (this.#shown.size < SERIES_MAX) this.#shown.set(series, of);
      observe(value, of);
    }
    for (const of of before.values()) observe(values === undefined ? Number.NaN : 0, of);
  }
}
