import { inWords } from '../core/index.js';
import type { HealthLimits } from '../ops/checks/health-limits.js';
import { type Count, LATE_MS, type NoteLine, type Overview, sumCounts } from './contract.js';
import { overdueAt } from './search.table.js';

const LISTED_MAX = 5;

/**
 * What deserves attention although it is within the limits of the health check, so that the page does
 * not claim that all is well above it.
 */
export function overviewNotes(
  { names, nodes, pauses, now }: Omit<Overview, 'health'>,
  { lateAfterMs, deadLettersMax }: HealthLimits,
): NoteLine[] {
  const late = names.filter(({ oldestLateMs }) => (oldestLateMs ?? 0) >= LATE_MS);
  const dead = sumCounts(names.map((line) => line.dead));
  const unserved = names.filter((line) => line.nodes === 0 && line.live.count > 0);
  const silent = (nodes ?? []).filter(({ isSilent }) => isSilent);
  const oldestMs = Math.max(0, ...late.map(({ oldestLateMs }) => oldestLateMs ?? 0));
  const notes: [holds: boolean, reason: string, text: string, search?: NoteLine['search']][] = [
    [
      late.length > 0,
      'late',
      `${written(sumCounts(late.map((line) => line.late)), 'delay is', 'delays are')} late, the oldest by ${inWords(oldestMs)} (the limit is ${inWords(lateAfterMs)})`,
      overdueAt(now),
    ],
    [
      dead.count > 0,
      'deadLetters',
      `${written(dead, 'dead letter', 'dead letters')} (the limit is ${deadLettersMax})`,
      { state: ['dead'] },
    ],
    [
      unserved.length > 0,
      'unserved',
      `no live node serves ${listNames(unserved.map(({ name }) => name))}`,
    ],
    [
      pauses.length > 0,
      'held',
      `paused: ${listNames(pauses.map(({ name, group }) => (group === null ? name : `${name} · ${group}`)))}`,
    ],
    [
      silent.length > 0,
      'nodeSilent',
      `no sign of life: ${listNames(silent.map(({ name }) => name))}`,
    ],
  ];
  return notes.flatMap(([holds, reason, text, search = null]) =>
    holds ? [{ reason, text, search }] : [],
  );
}

const written = ({ count, is }: Count, one: string, many: string): string =>
  `${count}${is === 'exact' ? '' : '+'} ${count === 1 ? one : many}`;

function listNames(names: readonly string[]): string {
  const rest = names.length - LISTED_MAX;
  return `${names.slice(0, LISTED_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
