/** Where values stand on an axis. */
export interface Scale {
  /** 0 at the start of the axis, 1 at its end; what lies before the start stands at 0. */
  at(value: number): number;
  ticks: readonly number[];
}

const TICKS_ABOUT = 5;

/** Steps that people count in. */
const STEPS = [1, 2, 5, 10];

/** From zero to the first round number that is not below `most`. */
export function linearScale(most: number): Scale {
  const rough = (most > 0 ? most : 1) / TICKS_ABOUT;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (STEPS.find((each) => each * power >= rough) ?? 10) * power;
  const count = Math.max(1, Math.ceil((most > 0 ? most : 1) / step));
  const ticks = Array.from({ length: count + 1 }, (_, index) => tidy(index * step));
  return scaleOf(ticks, (value) => value);
}

/** Between the powers of ten around `least` and `most`; both must be positive. */
export function logScale(least: number, most: number): Scale {
  const first = Math.floor(Math.log10(least));
  const last = Math.max(first + 1, Math.ceil(Math.log10(most)));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => tidy(10 ** (first + index)));
  return scaleOf(ticks, (value) => Math.log10(value));
}

function scaleOf(ticks: readonly number[], project: (value: number) => number): Scale {
  const [start, end] = [project(ticks.at(0) ?? 0), project(ticks.at(-1) ?? 1)];
  return {
    ticks,
    at: (value) => Math.max(0, (project(value) - start) / (end - start)),
  };
}

/** 0.30000000000000004 is not what anybody wants to read. */
const tidy = (value: number): number => Number(value.toPrecision(12));
