import type { Figures, Verdict } from '../checker/check.js';
import type { Lateness } from '../checker/lateness.js';

/** Told of each invariant; the count says how many there are. */
const EXAMPLES_MAX = 3;

/** What a run came to, for people. */
export interface Told {
  verdicts: readonly Verdict[];
  figures: Figures;
  /** What no fault explains. */
  odd: readonly string[];
}

/** Of every sort: a run without any of them ends with 0. */
export const violationsOf = ({ verdicts, odd }: Told): number =>
  verdicts.reduce((sum, { violations }) => sum + violations, odd.length);

/**
 * @param faults kinds that it was asked to do
 * @param command that does the run again
 */
export function reportOf(told: Told, faults: readonly string[], command: string): string {
  const violations = violationsOf(told);
  return [
    '',
    ...told.verdicts.flatMap(verdictLines),
    ...oddLines(told.odd),
    '',
    ...figureLines(told.figures, faults),
    '',
    violations === 0 ? 'No violation.' : `${counted(violations, 'violation')}.`,
    `The same again: ${command}`,
  ].join('\n');
}

function verdictLines({ invariant, title, checked, violations, examples }: Verdict): string[] {
  const mark = violations === 0 ? 'ok ' : 'NOT';
  const counts = `${whole(checked)} checked, ${counted(violations, 'violation')}`;
  const line = `${mark} ${String(invariant).padStart(2)}. ${title} (${counts})`;
  const left = Math.max(0, violations - EXAMPLES_MAX);
  return [
    line,
    ...examples.slice(0, EXAMPLES_MAX).map((example) => `      - ${example}`),
    ...(violations > 0 && left > 0 ? [`      … and ${whole(left)} more`] : []),
  ];
}

function oddLines(odd: readonly string[]): string[] {
  const mark = odd.length === 0 ? 'ok ' : 'NOT';
  const line = `${mark}     no process ends by itself, every fault is mended (${counted(odd.length, 'violation')})`;
  return [line, ...odd.map((what) => `      - ${what}`)];
}

function figureLines(figures: Figures, asked: readonly string[]): string[] {
  const { delays, claims, effects, calls, faults, lateness } = figures;
  const { begun, completed, movedOn, dead, cancelled, replaced } = delays;
  const kinds = Object.entries(faults).map(([kind, times]) => `${times} ${kind}`);
  const missed = asked.filter((kind) => faults[kind] === undefined);
  if (missed.length > 0) kinds.push(`and no time for ${missed.join(', ')}`);
  return [
    `delays     ${whole(begun)} scheduled: ${whole(completed)} completed, ${whole(movedOn)} moved on by ` +
      `their handler, ${whole(cancelled)} cancelled, ${whole(replaced)} replaced, ${whole(dead)} dead`,
    `attempts   ${whole(claims)} claims; effects: ${whole(effects.fenced)} in transactions, ` +
      `${whole(effects.plain)} outside`,
    `calls      ${whole(calls.ok)} answered, ${whole(calls.fail)} failed, ${whole(calls.unknown)} unknown`,
    `faults     ${kinds.join(', ') || 'none'}`,
    `harm       ${figures.lost} lost, ${figures.duplicated} duplicated, ` +
      `${figures.unexpected} unexpected, ${figures.early} early`,
    `lateness   without faults ${latenessIn(lateness.calm)}; with them ${latenessIn(lateness.faults)}`,
  ];
}

function latenessIn({ delays, p50Ms, p99Ms, maxMs }: Lateness): string {
  if (delays === 0) return 'of none';
  return `p50 ${inMs(p50Ms)}, p99 ${inMs(p99Ms)}, max ${inMs(maxMs)} of ${whole(delays)}`;
}

const whole = (count: number): string => count.toLocaleString('en-US');

const inMs = (ms: number | null): string => {
  if (ms === null) return '-';
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${whole(Math.round(ms))} ms`;
};

const counted = (count: number, noun: string): string =>
  `${count === 0 ? 'no' : whole(count)} ${noun}${count === 1 || count === 0 ? '' : 's'}`;
