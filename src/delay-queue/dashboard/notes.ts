import { inWords } from '../api/error-text.js';
import type { HealthLimits } from '../config/health-limits.js';
import { type Count, LATE_MS, type NoteLine, type Overview } from './contract.js';

/** Names that one sentence lists. */
const LISTED_MAX = 5;

/**
 * What an overview shows that wants a look, although it is within the limits of the health check: no
 * page says that all is well above it.
 */
export function notesOf(
  { names, nodes, pauses, now }: Omit<Overview, 'health'>,
  { lateAfterMs, deadLettersMax }: HealthLimits,
): NoteLine[] {
  const late = names.filter(({ oldestLateMs }) => (oldestLateMs ?? 0) >= LATE_MS);
  const dead = sumOf(names.map((line) => line.dead));
  const unserved = names.filter((line) => line.nodes === 0 && line.live.count > 0);
  const silent = (nodes ?? []).filter(({ isSilent }) => isSilent);
  const oldestMs = Math.max(0, ...late.map(({ oldestLateMs }) => oldestLateMs ?? 0));
  const overdue = { state: ['scheduled', 'retrying'], dueBefore: now } satisfies NoteLine['search'];
  return [
    ...note(
      late.length > 0,
      'late',
      `${written(sumOf(late.map((line) => line.late)), 'delay is', 'delays are')} late, the oldest by ${inWords(oldestMs)} (the limit is ${inWords(lateAfterMs)})`,
      overdue,
    ),
    ...note(
      dead.count > 0,
      'deadLetters',
      `${written(dead, 'dead letter', 'dead letters')} (the limit is ${deadLettersMax})`,
      { state: ['dead'] },
    ),
    ...note(
      unserved.length > 0,
      'unserved',
      `no live node serves ${listed(unserved.map(({ name }) => name))}`,
    ),
    ...note(
      pauses.length > 0,
      'held',
      `paused: ${listed(pauses.map(({ name, group }) => (group === null ? name : `${name} · ${group}`)))}`,
    ),
    ...note(
      silent.length > 0,
      'nodeSilent',
      `no sign of life: ${listed(silent.map(({ name }) => name))}`,
    ),
  ];
}

const note = (
  holds: boolean,
  reason: string,
  text: string,
  search: NoteLine['search'] = null,
): NoteLine[] => (holds ? [{ reason, text, search }] : []);

function sumOf(counts: readonly Count[]): Count {
  const count = counts.reduce((sum, one) => sum + one.count, 0);
  return { count, is: counts.every(({ is }) => is === 'exact') ? 'exact' : 'atLeast' };
}

const written = ({ count, is }: Count, one: string, many: string): string =>
  `${count}${is === 'exact' ? '' : '+'} ${count === 1 ? one : many}`;

function listed(names: readonly string[]): string {
  const rest = names.length - LISTED_MAX;
  return `${names.slice(0, LISTED_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
