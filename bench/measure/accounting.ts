import type { WorkerReport } from '../processes/protocol.js';

/** What became of every delay of a measurement. */
export interface Accounting {
  /** Never ran. */
  lost: number;
  /** Ran more than once. */
  twice: number;
  /** Handlers that ran for a number that is not measured: the far future came early. */
  strays: number;
  /** Rows that should be gone and are not. */
  leftBehind: number;
}

/** @param leftBehind rows in the table beyond those that should stay */
export function account(
  reports: readonly WorkerReport[],
  expected: number,
  leftBehind: number,
): Accounting {
  let [lost, twice] = [0, 0];
  for (let n = 0; n < expected; n += 1) {
    let runs = 0;
    for (const report of reports) runs += report.runs[n] ?? 0;
    if (runs === 0) lost += 1;
    else if (runs > 1) twice += 1;
  }
  const strays = reports.reduce((total, report) => total + report.strays, 0);
  return { lost, twice, strays, leftBehind };
}

/** `0 / 0` when each ran exactly once; whatever else is wrong is said, too. */
export function shownAccounting(all: readonly Accounting[]): string {
  const total = (field: keyof Accounting): number =>
    all.reduce((sum, accounting) => sum + accounting[field], 0);
  const strays = total('strays') === 0 ? '' : `, ${total('strays')} strays`;
  const leftBehind = total('leftBehind') === 0 ? '' : `, ${total('leftBehind')} left behind`;
  return `${total('lost')} / ${total('twice')}${strays}${leftBehind}`;
}

/** The last column of whatever runs delays. */
export const LOST_OR_TWICE = {
  'lost / twice': (measurements: readonly { accounting: Accounting }[]): string =>
    shownAccounting(measurements.map(({ accounting }) => accounting)),
};
