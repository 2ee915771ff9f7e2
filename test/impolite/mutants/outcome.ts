import { render as renderTable } from '../../../bench/report/table.js';
import type { Told } from './told.js';

/** What became of one mutant, or of the real engine. */
export interface Outcome {
  name: string;
  /** A mutant was found, by a fault of its own; the real engine was not blamed. */
  asExpected: boolean;
  /** The program that found it, the fault, and how long that took. */
  cells: readonly [program: string, fault: string, seconds: string];
  /** All of it in one line. */
  line: string;
  /** What somebody needs who wants to know why it is not as expected. */
  details: readonly string[];
}

const FAULT_CHARS_MAX = 110;
const OTHERS_MAX = 5;

/**
 * @param mutant undefined for the real engine
 * @param real what the real engine made of the program that found the mutant
 */
export function outcomeOf(
  mutant: string | undefined,
  told: Told | Error,
  real?: Told | Error,
): Outcome {
  const name = mutant ?? '(the real engine)';
  if (told instanceof Error) {
    const line = `✗ ${name}: did not run: ${told.message}`;
    return { name, asExpected: false, cells: ['did not run', '', ''], line, details: [] };
  }
  const { played, found, others } = told;
  const realFaults = real instanceof Error ? [real.message] : (real?.others ?? []);
  const isBlamed = mutant === undefined ? others.length > 0 : realFaults.length > 0;
  const asExpected = !isBlamed && (mutant === undefined || found !== undefined);
  const mark = asExpected ? '✓' : '✗';
  if (found === undefined) {
    const blamed = others.length > 0 ? `${others.length} faults` : 'without fault';
    const what = mutant !== undefined && others.length > 0 ? `${blamed}, none of its own` : blamed;
    return {
      name,
      asExpected,
      cells: [`none of ${played}`, what, ''],
      line: `${mark} ${name}: ${what} in ${played} programs`,
      details: others.slice(0, OTHERS_MAX),
    };
  }
  const { run, fault, afterMs } = found;
  const seconds = (afterMs / 1_000).toFixed(0);
  const short = (fault.split('\n')[0] ?? '').slice(0, FAULT_CHARS_MAX);
  return {
    name,
    asExpected,
    cells: [run, fault.split(':')[0] ?? '', seconds],
    line: `${mark} ${name}: ${run}, ${seconds} s\n    ${short}`,
    details: realFaults.slice(0, OTHERS_MAX).map((its) => `the real engine, too: ${its}`),
  };
}

/** All of them, one below the other. */
export function render(outcomes: readonly Outcome[], seed: string): string {
  const good = outcomes.filter(({ asExpected }) => asExpected);
  return renderTable({
    title: `${good.length} of ${outcomes.length} as expected, seed ${seed}`,
    notes: [
      'the first program that found it, by what, and how many seconds after its process began',
    ],
    columns: ['mutant', 'found by', 'fault', 'seconds'],
    rows: outcomes.map(({ name, asExpected, cells }) => [
      `${asExpected ? ' ' : '✗'} ${name}`,
      ...cells,
    ]),
  });
}
