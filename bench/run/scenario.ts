import { type Cell, cellsOf, type Column, figure, rounds, type Table } from '../report/table.js';
import type { BenchServer } from '../server/bench-server.js';
import type { Settings } from './command-line.js';

/** What every scenario gets. */
export interface Bench {
  settings: Settings;
  /**
   * A Postgres of this run, started when a scenario first asks for it.
   * @param name an entry of `--postgres`; left out: the first of them
   */
  server(name?: string): Promise<BenchServer>;
  /** One line on standard error; standard output has the results alone. */
  progress(line: string): void;
}

/** What the file of a scenario exports. */
export interface ScenarioModule {
  run(bench: Bench): Promise<readonly Table[]>;
}

export interface Variant {
  /** Of its lines of progress. */
  title: string;
  /** Why it cannot be measured here: its row says so. */
  notRun?: string | undefined;
}

export interface Result<Of extends Variant, Measurement> {
  variant: Of;
  measurements: Measurement[];
}

/** How many times as much one variant has as another in the same round. */
interface Ratio<Of extends Variant, Measurement> {
  title: string;
  of: (measurement: Measurement) => number;
  /** Whether the second variant is what the first one is compared with. */
  isTo: (variant: Of, other: Of) => boolean;
}

/** A table in the making: what is compared, how each is measured, and what a row shows. */
export interface Comparison<Of extends Variant, Measurement> {
  name: string;
  title: string;
  notes: readonly string[];
  variants: readonly Of[];
  measure: (variant: Of) => Promise<Measurement>;
  /** The first columns, which say what a row is about. */
  labels: Record<string, (variant: Of) => string>;
  /** A figure for each round. */
  columns: readonly Column<Measurement>[];
  ratios?: readonly Ratio<Of, Measurement>[];
  /** The last columns, which sum up all rounds. */
  sums?: Record<string, (measurements: readonly Measurement[]) => string>;
  /** How long a measurement takes, as far as that is known beforehand. */
  expectedSeconds?: (variant: Of) => number;
}

/** Measures the variants in turn. @returns a row for each */
export async function compare<Of extends Variant, Measurement>(
  bench: Bench,
  comparison: Comparison<Of, Measurement>,
): Promise<Table> {
  return tableOf(comparison, await measured(bench, comparison));
}

/**
 * Measures every variant once per round, in turn (A B A B …): whatever else the machine does, it does to all of them.
 * Says after each measurement what it found, and how long the rest will take.
 */
export async function measured<Of extends Variant, Measurement>(
  bench: Bench,
  { name, variants, measure, columns, sums = {}, expectedSeconds }: Comparison<Of, Measurement>,
): Promise<Result<Of, Measurement>[]> {
  const { rounds: count } = bench.settings;
  const results = variants.map((variant) => ({ variant, measurements: [] as Measurement[] }));
  const able = results.filter(({ variant }) => variant.notRun === undefined);
  const all = able.length * count;
  for (const { title, notRun } of variants) {
    if (notRun !== undefined) bench.progress(`*** NOT RUN: ${name} · ${title}: ${notRun}`);
  }
  const expected = able.map(({ variant }) => expectedSeconds?.(variant) ?? Number.NaN);
  const about = shownTime(expected.reduce((sum, seconds) => sum + seconds, 0) * count);
  const inRounds = count === 1 ? 'one round' : `${count} rounds`;
  bench.progress(`${name}: ${all} to measure in ${inRounds}${about && `, ${about}`}`);
  const beganAtMs = performance.now();
  for (let [round, done] = [1, 0]; round <= count; round += 1) {
    for (const { variant, measurements } of able) {
      const measurement = await measure(variant);
      measurements.push(measurement);
      done += 1;
      const leftSeconds = ((performance.now() - beganAtMs) / 1_000 / done) * (all - done);
      const figures = columns
        .map(({ title, of, digits }) => [title, figure(of(measurement), digits)])
        .filter(([, shown]) => shown !== '–')
        .map(([title, shown]) => `${title} ${shown}`);
      const said = Object.entries(sums).map(([title, of]) => `${title}: ${of([measurement])}`);
      const rest = done < all ? `${shownTime(leftSeconds)} left · ` : '';
      bench.progress(
        `${name} · ${done}/${all} · ${rest}${variant.title}: ${[...figures, ...said].join(', ')}`,
      );
    }
  }
  return results;
}

/** @returns nothing where it is not known */
function shownTime(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  return seconds < 90 ? `about ${Math.ceil(seconds)} s` : `about ${Math.ceil(seconds / 60)} min`;
}

/** The table of what {@link measured} found, or of a part of it. */
export function tableOf<Of extends Variant, Measurement>(
  comparison: Omit<Comparison<Of, Measurement>, 'measure' | 'variants' | 'expectedSeconds'>,
  results: readonly Result<Of, Measurement>[],
): Table {
  const { name, title, notes, labels, columns, ratios = [], sums = {} } = comparison;
  return {
    name,
    title,
    notes,
    columns: [
      ...Object.keys(labels),
      ...columns.map((column) => column.title),
      ...ratios.map((ratio) => ratio.title),
      ...Object.keys(sums),
    ],
    rows: results.map(({ variant, measurements }): Cell[] => {
      const label = Object.values(labels).map((shown) => shown(variant));
      const { notRun } = variant;
      if (notRun !== undefined) return [...label, `NOT RUN: ${notRun}`];
      return [
        ...label,
        ...cellsOf(columns, measurements),
        ...ratios.map((ratio) => ratioCell(ratio, { variant, measurements }, results)),
        ...Object.values(sums).map((sum) => sum(measurements)),
      ];
    }),
  };
}

function ratioCell<Of extends Variant, Measurement>(
  { of, isTo }: Ratio<Of, Measurement>,
  { variant, measurements }: Result<Of, Measurement>,
  results: readonly Result<Of, Measurement>[],
): Cell {
  const other = results.find((each) => isTo(variant, each.variant));
  const ofOther = (round: number): number => {
    const measurement = other?.measurements[round];
    return measurement === undefined ? Number.NaN : of(measurement);
  };
  return rounds(
    measurements.map((measurement, round) => of(measurement) / ofOther(round)),
    2,
  );
}
