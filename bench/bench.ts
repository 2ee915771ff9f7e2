import type { BenchServer } from './server/bench-server.js';
import type { Settings } from './command-line.js';
import type { Table } from './report/table.js';

/** What every scenario gets. */
export interface Bench {
  settings: Settings;
  /** The Postgres of this run, started when the first scenario asks for it. */
  server(): Promise<BenchServer>;
  /** One line to whoever waits, on standard error: the results alone go to standard output. */
  progress(line: string): void;
}

/** What the file of a scenario exports. */
export interface ScenarioModule {
  /** Answers tables; one that prints its own answers nothing. */
  run(bench: Bench): Promise<readonly Table[] | void>;
}

/**
 * Measures every variant once per round, in turn (A B A B …): whatever the machine does besides,
 * it does to all of them.
 */
export async function interleaved<Variant extends { title: string }, Measurement>(
  bench: Bench,
  variants: readonly Variant[],
  measure: (variant: Variant) => Promise<Measurement>,
  shown: (measurement: Measurement) => string,
): Promise<{ variant: Variant; measurements: Measurement[] }[]> {
  const results = variants.map((variant) => ({ variant, measurements: [] as Measurement[] }));
  for (let round = 1; round <= bench.settings.rounds; round += 1) {
    for (const { variant, measurements } of results) {
      const measurement = await measure(variant);
      measurements.push(measurement);
      bench.progress(
        `round ${round}/${bench.settings.rounds} · ${variant.title}: ${shown(measurement)}`,
      );
    }
  }
  return results;
}
