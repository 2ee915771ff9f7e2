import { median } from './statistics.js';

/** A result as it is printed: first the title, then the notes, then the rows. */
export interface Table {
  title: string;
  /** What a reader has to know: settings, sizes, definitions. */
  notes: readonly string[];
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

/** Columns as wide as their widest cell; the first to the left, the figures to the right. */
export function render({ title, notes, columns, rows }: Table): string {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) =>
        index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
      )
      .join(' | ');
  const rule = widths.map((width) => '-'.repeat(width)).join('-|-');
  return [title, ...notes.map((note) => `  ${note}`), '', line(columns), rule, ...rows.map(line)]
    .map((text) => text.trimEnd())
    .join('\n');
}

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
