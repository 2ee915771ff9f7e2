import { render as renderTable } from '../../../bench/report/table.js';
import type { ChaosResult } from '../run.js';

/** What became of one run. */
export interface Outcome {
  name: string;
  /** A mutant was caught, for its own reason; the real engine was not blamed. */
  asExpected: boolean;
  caughtBy: string;
  example: string;
  seconds: number;
  /** All of it in one line, as it is told when the run is over. */
  line: string;
  /** What somebody needs who wants to know why it is not as expected. */
  details: string[];
}

const EXAMPLE_CHARS_MAX = 110;

/**
 * @param mutant undefined for the real engine
 * @param blamedBy the invariant that has to blame it; undefined: any will do
 */
export function outcomeOf(
  mutant: string | undefined,
  result: ChaosResult | Error,
  tookMs: number,
  blamedBy?: number,
): Outcome {
  const name = mutant ?? '(the real engine)';
  const seconds = Math.round(tookMs / 1_000);
  if (result instanceof Error) {
    const line = `${name}: did not run: ${result.message}`;
    const what = { caughtBy: 'did not run', example: result.message };
    return { name, asExpected: false, ...what, seconds, line, details: [result.stack ?? ''] };
  }
  const { verdicts, figures, odd } = result;
  const broken = verdicts.filter(({ violations }) => violations > 0);
  const blamed = broken.length > 0;
  const isReason = ({ invariant }: { invariant: number }): boolean =>
    blamedBy === undefined || invariant === blamedBy;
  const caughtBy = broken
    .map(({ invariant, violations }) => `${invariant} (${violations})`)
    .join(' ');
  // Its own reason first.
  const telling = [...broken.filter(isReason), ...broken];
  const [example = ''] = telling.flatMap(({ examples }) => examples);
  const short = (example.split('\n')[0] ?? '').slice(0, EXAMPLE_CHARS_MAX);
  const asExpected = mutant === undefined ? !blamed && odd.length === 0 : broken.some(isReason);
  const missing = blamed && !asExpected && mutant !== undefined ? `, not by ${blamedBy}` : '';
  const word = blamed ? `blamed by ${caughtBy}${missing}` : 'without fault';
  return {
    name,
    asExpected,
    caughtBy: blamed ? caughtBy : '–',
    example: short,
    seconds,
    line: `${asExpected ? '✓' : '✗'} ${name}: ${word}, ${seconds} s${short && `\n    ${short}`}`,
    details: asExpected
      ? []
      : [
          JSON.stringify(figures),
          ...odd,
          ...broken.flatMap(({ examples }) => examples.slice(0, 3)),
        ],
  };
}

/** What a second run came to, after one in which nothing was found. */
export function again(first: Outcome, second: Outcome): Outcome {
  const seconds = first.seconds + second.seconds;
  return { ...second, seconds, caughtBy: `${second.caughtBy}, in a second run` };
}

/** All of them, one below the other. */
export function render(outcomes: readonly Outcome[], seed: string): string {
  const survivors = outcomes.filter(({ asExpected }) => !asExpected);
  const table = renderTable({
    title: `${outcomes.length - survivors.length} of ${outcomes.length} as expected, seed ${seed}`,
    notes: ['the numbers are those of the invariants, with how many violations each found'],
    columns: ['mutant', 'blamed by', 'seconds'],
    rows: outcomes.map(({ name, asExpected, caughtBy, seconds }) => [
      `${asExpected ? ' ' : '✗'} ${name}`,
      caughtBy,
      String(seconds),
    ]),
  });
  // Below, because they are long.
  const examples = outcomes.filter(({ example }) => example !== '');
  return [table, '', ...examples.map(({ name, example }) => `${name}\n    ${example}`)].join('\n');
}
