import type { Settings } from '../run/command-line.js';
import { median } from './statistics.js';

/** A result as it is printed: first the title, then the notes, then the rows. */
export interface Table {
  /** What a chart finds it by; a table without a name is never drawn. */
  name?: string;
  title: string;
  /** What a reader has to know: settings, sizes, definitions. */
  notes: readonly string[];
  columns: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/** What `--json` writes; figures that cannot be told are `null` there. */
export interface Results {
  /** The machine and the server. */
  facts: readonly string[];
  settings: Settings;
  tables: readonly Table[];
}

/** A text, or figures that are still figures in the JSON. */
export type Cell = string | Rounds;

/** One figure for each round. */
export interface Rounds {
  values: readonly number[];
  /** Behind the point, when it is printed. */
  digits: number;
}

/** The figures of a column in one row. */
export const rounds = (values: readonly number[], digits = 0): Rounds => ({ values, digits });

/** What a column shows of the measurements of one row. */
export interface Column<Measurement> {
  title: string;
  of: (measurement: Measurement) => number;
  digits?: number;
}

export const cellsOf = <Measurement>(
  columns: readonly Column<Measurement>[],
  measurements: readonly Measurement[],
): Rounds[] => columns.map(({ of, digits }) => rounds(measurements.map(of), digits));

/** Columns as wide as their widest cell; the first to the left, the figures to the right. */
export function render({ title, notes, columns, rows }: Table): string {
  const printed = rows.map((row) => row.map(shownCell));
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...printed.map((row) => row[index]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) =>
        index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
      )
      .join(' | ');
  const rule = widths.map((width) => '-'.repeat(width)).join('-|-');
  return [title, ...notes.map((note) => `  ${note}`), '', line(columns), rule, ...printed.map(line)]
    .map((text) => text.trimEnd())
    .join('\n');
}

const shownCell = (cell: Cell): string =>
  typeof cell === 'string' ? cell : spread(cell.values, cell.digits);

/** Median and range of the rounds: `47,600 (45,100–48,200)`. */
export function spread(values: readonly number[], digits = 0): string {
  const sorted = values.filter((value) => Number.isFinite(value)).toSorted((a, b) => a - b);
  const [least, most] = [sorted.at(0), sorted.at(-1)];
  if (least === undefined || most === undefined) return '–';
  if (sorted.length === 1) return figure(least, digits);
  return `${figure(median(sorted), digits)} (${figure(least, digits)}–${figure(most, digits)})`;
}

/** Thousands in groups, a fixed number of digits behind the point. */
export function figure(value: number, digits = 0): string {
  if (!Number.isFinite(value)) return '–';
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
