import { median } from '../report/statistics.js';
import { figure, type Table } from '../report/table.js';

/** What is a matter of speed: nanoseconds per timer. */
interface Speeds {
  addNs: number;
  cancelNs: number;
  addAgainNs: number;
  fireSpreadNs: number;
  fireDenseNs: number;
}

const OPERATIONS: readonly [string, keyof Speeds][] = [
  ['add', 'addNs'],
  ['cancel', 'cancelNs'],
  ['add again', 'addAgainNs'],
  ['fire', 'fireSpreadNs'],
  ['fire dense', 'fireDenseNs'],
];

/** How fast the first is beside the best of the others: above 1 it is the fastest of all. */
export function ratiosOf(
  timers: number,
  results: readonly { variant: { title: string }; rounds: readonly Speeds[] }[],
): Table {
  const [ours, ...rivals] = results;
  const nsOf = (rounds: readonly Speeds[], key: keyof Speeds) =>
    median(rounds.map((round) => round[key]));
  const rows = OPERATIONS.map(([operation, key]) => {
    const oursNs = nsOf(ours?.rounds ?? [], key);
    const [best] = rivals
      .map(({ variant, rounds }) => ({ title: variant.title, ns: nsOf(rounds, key) }))
      .filter(({ ns }) => Number.isFinite(ns))
      .toSorted((a, b) => a.ns - b.ns);
    if (best === undefined) return [operation, figure(oursNs), '–', '–', '–'];
    return [operation, figure(oursNs), best.title, figure(best.ns), figure(best.ns / oursNs, 2)];
  });
  return {
    title: `${figure(timers)} timers: the wheel beside the best of the others`,
    notes: ['medians, ns per timer; above 1 the wheel is faster'],
    columns: ['', 'wheel', 'best rival', 'ns', 'times'],
    rows,
  };
}
