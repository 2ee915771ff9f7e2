import { expect, it } from '@jest/globals';
import type { Attributes, BatchObservableResult, Observable } from '@opentelemetry/api';
import * as fc from 'fast-check';
import { Counter } from '../../../src/delay-queue/opentelemetry/counter.js';

const INSTRUMENT = {} as Observable;

/** The series as an export gets them. */
function shown(counter: Counter): { of: Attributes; value: number }[] {
  const all: { of: Attributes; value: number }[] = [];
  const result: BatchObservableResult = {
    observe: (_instrument, value, of = {}) => void all.push({ of, value }),
  };
  counter.show(result, INSTRUMENT);
  return all;
}

const label = fc.option(fc.constantFrom('a', 'b', 'ab'), { nil: undefined });

it('sums each set of attributes by itself', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(9), label, label)), (steps) => {
      const counter = new Counter(['x', 'y'], { system: 's' });
      const sums = new Map<string, number>();
      for (const [count, x, y] of steps) {
        counter.add(count, x, y);
        const of = JSON.stringify({ system: 's', ...(x && { x }), ...(y && { y }) });
        sums.set(of, (sums.get(of) ?? 0) + count);
      }
      const found = shown(counter).map(({ of, value }) => [JSON.stringify(of), value]);
      expect(found).toEqual([...sums]);
    }),
  );
});

it('keeps 2,000 series, and sums the others in one', () => {
  const counter = new Counter(['name']);
  for (let round = 0; round < 2; round++) {
    for (let name = 0; name < 2_003; name++) counter.add(1, String(name));
  }
  const all = shown(counter);
  expect(all).toHaveLength(2_001);
  expect(all.at(-1)).toEqual({ of: { 'otel.metric.overflow': true }, value: 6 });
  expect(all.slice(0, -1).every(({ value }) => value === 2)).toBe(true);
});
