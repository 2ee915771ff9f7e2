import type { Adapter } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { type Bench, interleaved } from './bench.js';
import { callingCells, CALLING_COLUMNS, type Calling, shownCalling } from './calling.js';
import type { Table } from './report/table.js';

/** Ways to make the same calls, each to be tried on every system. */
export interface CallingComparison<Way> {
  name: string;
  title: string;
  notes: readonly string[];
  /** What the ways differ in: the head of their column. */
  column: string;
  ways: readonly Way[];
  shown: (way: Way) => string;
  /** Answers nothing when the system cannot. */
  measure: (adapter: Adapter, way: Way) => Promise<Calling | undefined>;
}

/** Measures them in turn: a row for each way on each system. */
export async function callingTable<Way>(
  bench: Bench,
  { name, title, notes, column, ways, shown, measure }: CallingComparison<Way>,
): Promise<Table> {
  const adapters = adaptersLike(bench.settings.systems);
  const variants = ways.flatMap((way) =>
    adapters.map((adapter) => ({
      title: `${name} · ${adapter.name} · ${column} ${shown(way)}`,
      adapter,
      way,
    })),
  );
  const results = await interleaved(
    bench,
    variants,
    ({ adapter, way }) => measure(adapter, way),
    shownCalling,
  );
  return {
    name,
    title,
    notes: [...notes, ...new Set(adapters.map(({ settings }) => settings))],
    columns: ['system', column, ...CALLING_COLUMNS],
    rows: results.map(({ variant: { adapter, way }, measurements }) => [
      adapter.name,
      shown(way),
      ...callingCells(measurements.filter((calling) => calling !== undefined)),
    ]),
  };
}
