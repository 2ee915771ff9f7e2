import type { Verdict } from './checker/check.js';
import { violationsOf, type ChaosResult } from './run.js';

/** Told of each invariant; the count says how many there are. */
const EXAMPLES_MAX = 3;

/** What a run came to, for people. @param asked kinds of faults that it was to do */
export function reportOf(result: ChaosResult, asked: readonly string[]): string {
  const { verdicts, odd, figures, evidence } = result;
  const violations = violationsOf(result);
  const done = figures['faults']?.split(/, |\s/) ?? [];
  const missed = asked.filter((kind) => !done.includes(kind));
  return [
    '',
    ...verdicts.flatMap(linesOf),
    `${mark(odd.length)}     no process ends by itself, every fault is mended`,
    ...odd.map((what) => `      - ${what}`),
    '',
    ...Object.entries(figures).map(([name, line]) => `${name.padEnd(22)}${line}`),
    ...(missed.length > 0 ? [`no time for           ${missed.join(', ')}`] : []),
    '',
    violations === 0 ? 'No violation.' : `Violations: ${violations}.`,
    ...(evidence === undefined ? [] : [`Logs, output and the record: ${evidence}`]),
  ].join('\n');
}

const mark = (violations: number): string => (violations === 0 ? 'ok ' : 'NOT');

function linesOf({ invariant, title, checked, violations, examples }: Verdict): string[] {
  const number = String(invariant).padStart(2);
  const counts = `${checked} checked, violations: ${violations}`;
  return [
    `${mark(violations)} ${number}. ${title} (${counts})`,
    ...examples.slice(0, EXAMPLES_MAX).map((example) => `      - ${example}`),
  ];
}
