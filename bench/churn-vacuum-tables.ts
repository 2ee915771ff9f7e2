import type { VacuumName } from './churn-settings.js';
import type { Measured } from './churn-traffic.js';
import type { State } from './churn-watch.js';
import { percentile } from './report/statistics.js';
import { figure, spread, type Table } from './report/table.js';

export interface Variant {
  title: string;
  vacuums: VacuumName;
  fillfactor: number;
}

/** The run in three parts: nobody holds a snapshot, somebody does, and nobody any more. */
export const PHASES = ['before', 'held', 'after'] as const;

export interface Phase {
  measured: Measured;
  before: State;
  after: State;
}

export interface Run {
  phases: Phase[];
  /** From the end of the snapshot to a vacuum that left next to nothing dead; NaN: not seen. */
  recoveredSeconds: number;
}

const MEBIBYTE = 2 ** 20;

type Results = readonly { variant: Variant; measurements: Run[] }[];

/** A row for each variant and phase. */
function rowsOf(
  results: Results,
  cells: (phases: readonly Phase[], runs: readonly Run[], isLast: boolean) => string[],
): string[][] {
  return results.flatMap(({ variant, measurements }) =>
    PHASES.map((name, index) => [
      variant.vacuums,
      String(variant.fillfactor),
      name,
      ...cells(
        measurements.flatMap(({ phases }) => phases[index] ?? []),
        measurements,
        name === 'after',
      ),
    ]),
  );
}

const each = (phases: readonly Phase[], value: (phase: Phase) => number, digits = 0): string =>
  spread(phases.map(value), digits);

export function delayTable(notes: readonly string[], results: Results): Table {
  return {
    title: 'Vacuums of the table of delays',
    notes,
    columns: [
      'vacuums',
      'fillfactor',
      'snapshot',
      'claim p50 ms',
      'claim p99 ms',
      'load p99 ms',
      'load pages',
      'sweep p99 ms',
      'sweep pages',
      'table MiB',
      'indexes MiB',
      'dead rows',
      'HOT %',
      'WAL B/delay',
      'vacuums',
      'recovered s',
      'missed',
    ],
    rows: rowsOf(results, (phases, runs, isLast) => [
      each(phases, ({ measured }) => percentile(measured.claimMs, 0.5), 2),
      each(phases, ({ measured }) => percentile(measured.claimMs, 0.99), 2),
      each(phases, ({ measured }) => percentile(measured.loadMs, 0.99), 2),
      each(phases, ({ measured }) => percentile(measured.loadBuffers, 0.5)),
      each(phases, ({ measured }) => percentile(measured.sweepMs, 0.99), 2),
      each(phases, ({ measured }) => percentile(measured.sweepBuffers, 0.5)),
      each(phases, ({ after }) => after.delay.bytes / MEBIBYTE, 1),
      each(phases, ({ after }) => after.delay.indexBytes / MEBIBYTE, 1),
      each(phases, ({ after }) => after.delay.deadRows),
      each(phases, ({ before, after }) => hotPercent(before, after), 1),
      each(phases, ({ measured, before, after }) => walPerDelay(measured, before, after)),
      each(phases, ({ before, after }) => after.delay.vacuums - before.delay.vacuums),
      isLast
        ? spread(
            runs.map(({ recoveredSeconds }) => recoveredSeconds),
            1,
          )
        : '',
      figure(phases.reduce((sum, { measured }) => sum + measured.missed, 0)),
    ]),
  };
}

export function historyTable(notes: readonly string[], results: Results): Table {
  return {
    title: 'Vacuums of history, in the same runs',
    notes,
    columns: [
      'vacuums',
      'fillfactor',
      'snapshot',
      'complete p99 ms',
      'prune p99 ms',
      'table MiB',
      'indexes MiB',
      'dead rows',
      'vacuums',
    ],
    rows: rowsOf(results, (phases) => [
      each(phases, ({ measured }) => percentile(measured.completeMs, 0.99), 2),
      each(phases, ({ measured }) => percentile(measured.pruneMs, 0.99), 2),
      each(phases, ({ after }) => after.history.bytes / MEBIBYTE, 1),
      each(phases, ({ after }) => after.history.indexBytes / MEBIBYTE, 1),
      each(phases, ({ after }) => after.history.deadRows),
      each(phases, ({ before, after }) => after.history.vacuums - before.history.vacuums),
    ]),
  };
}

const hotPercent = (before: State, after: State): number =>
  ((after.delay.hotUpdates - before.delay.hotUpdates) * 100) /
  (after.delay.updates - before.delay.updates);

const walPerDelay = (measured: Measured, before: State, after: State): number =>
  (after.walBytes - before.walBytes) / measured.through;
