import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '../run/command-line.js';
import { CHART_PLANS, chartOf } from './chart-plans.js';
import { drawChart } from './chart.js';
import type { Results, Table } from './table.js';

/**
 * Draws what `--json` wrote.
 *
 * @returns the files that it wrote
 * @throws UsageError for a file without results, and for a table that stands in two files: figures of
 * two runs do not belong into one chart
 */
export async function drawCharts(files: readonly string[], folder: string): Promise<string[]> {
  const found = new Map<string, { file: string; table: Table; footer: string }>();
  for (const file of files) {
    const { facts, settings, tables } = await read(file);
    const footer = footerOf(facts, settings.rounds);
    for (const table of tables) {
      if (table.name === undefined) continue;
      const earlier = found.get(table.name);
      if (earlier) throw new UsageError(`${earlier.file} and ${file} both have '${table.name}'.`);
      found.set(table.name, { file, table, footer });
    }
  }
  await mkdir(folder, { recursive: true });
  const written: string[] = [];
  for (const plan of CHART_PLANS) {
    const source = found.get(plan.table);
    const chart = source && chartOf(plan, source.table, source.footer);
    if (chart === undefined) continue;
    const path = join(folder, `${plan.file}.svg`);
    await writeFile(path, drawChart(chart));
    written.push(path);
  }
  return written;
}

async function read(file: string): Promise<Results> {
  try {
    const results = JSON.parse(await readFile(file, 'utf8')) as Partial<Results> | null;
    if (results?.tables && results.facts && results.settings) return results as Results;
  } catch (error) {
    throw new UsageError(`--charts cannot read ${file}: ${String(error)}`);
  }
  throw new UsageError(`${file} is not what --json writes.`);
}

/** The machine in one line; the settings of Postgres stand in the JSON. */
const footerOf = (facts: readonly string[], rounds: number): string =>
  [
    ...facts.map((fact) => fact.split(/[:;]/, 1)[0]),
    rounds === 1 ? 'one round' : `medians of ${rounds} interleaved rounds`,
  ].join(' · ');
