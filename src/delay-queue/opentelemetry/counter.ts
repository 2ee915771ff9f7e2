import type { Attributes, Observable, BatchObservableResult } from '@opentelemetry/api';

/** The number of series that an SDK keeps. */
export const SERIES_MAX = 2_000;

/** What an SDK calls the sum of all series that it has no room for. */
const OVERFLOW: Attributes = { 'otel.metric.overflow': true };

interface Series {
  of: Attributes;
  value: number;
}

/**
 * Counts here, and is read with each export: a counter of the SDK sorts and writes out the attributes
 * at each step, which costs a microsecond or more.
 */
export class Counter {
  readonly #series = new Map<string, Series>();

  /** @param attributes names of the attributes, in the order in which `add` gets their values */
  constructor(
    private readonly attributes: readonly string[],
    private readonly constant: Attributes = {},
  ) {}

  /** @param values those that are undefined are left out */
  add(count: number, ...values: (string | undefined)[]): void {
    const key = values.join('\n');
    const series = this.#series.get(key) ?? this.#begin(key, values);
    series.value += count;
  }

  show(result: BatchObservableResult, instrument: Observable): void {
    for (const { of, value } of this.#series.values()) result.observe(instrument, value, of);
  }

  #begin(key: string, values: readonly (string | undefined)[]): Series {
    const isFull = this.#series.size >= SERIES_MAX;
    if (isFull) {
      const rest = this.#series.get('');
      if (rest !== undefined) return rest;
    }
    const series = { of: isFull ? OVERFLOW : this.#attributesOf(values), value: 0 };
    this.#series.set(isFull ? '' : key, series);
    return series;
  }

  #attributesOf(values: readonly (string | undefined)[]): Attributes {
    const of = { ...this.constant };
    for (const [index, name] of this.attributes.entries()) {
      const value = values[index];
      if (value !== undefined) of[name] = value;
    }
    return of;
  }
}
