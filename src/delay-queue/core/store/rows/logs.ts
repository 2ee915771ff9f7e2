import type { AttemptOutcome, DelayAttempt, DelayMove, DelayWait } from '../../api/delay.js';

/*
 * What a row stores as JSON, as callers get it. A column that was changed by hand reads as empty: one odd row must
 * not hide the others.
 */

export const readObject = (value: unknown): object | null =>
  typeof value === 'object' && !Array.isArray(value) ? value : null;

/** An entry counts if these fields of it are numbers. */
function readEntries<Entry>(log: unknown, numbers: readonly (keyof Entry)[]): Entry[] {
  const isEntry = (entry: unknown): entry is Entry =>
    numbers.every((field) => typeof Object(entry)[field] === 'number');
  return Array.isArray(log) ? log.filter(isEntry) : [];
}

/** An attempt as the row stores it. It has no end if none was written. */
type KeptAttempt = Pick<DelayAttempt, 'attempt' | 'node'> & { startedMs: number } & Partial<{
    outcome: AttemptOutcome;
    endedMs: number;
    error: string;
  }>;

/** The last attempt of a running delay has no end yet. Any other without an end was lost. */
export function readAttempts(log: unknown, isRunning: boolean): DelayAttempt[] {
  const kept = readEntries<KeptAttempt>(log, ['startedMs']);
  return kept.map(({ attempt, node, startedMs, outcome, endedMs, error }, index) => ({
    attempt,
    outcome: outcome ?? (isRunning && index === kept.length - 1 ? 'running' : 'lost'),
    node,
    startedAt: new Date(startedMs),
    endedAt: typeof endedMs === 'number' ? new Date(endedMs) : null,
    error: error ?? null,
  }));
}

type KeptMove = Pick<DelayMove, 'call'> &
  Record<'atMs' | 'fromMs' | 'toMs', number> & { by?: unknown; skipped?: unknown };

export const readMoves = (log: unknown): DelayMove[] =>
  readEntries<KeptMove>(log, ['atMs', 'fromMs', 'toMs']).map(
    ({ call, atMs, fromMs, toMs, by, skipped }) => ({
      call,
      at: new Date(atMs),
      from: new Date(fromMs),
      to: new Date(toMs),
      by: typeof by === 'string' ? by : null,
      ...(typeof skipped === 'number' && { skipped }),
    }),
  );

/** From the statement's JSON, in which instants are numbers. */
export function readWait(wait: unknown): DelayWait | null {
  if (wait === null) return null;
  const { sinceMs, untilMs, ...told } = wait as { sinceMs?: number; untilMs?: number | null };
  return {
    ...told,
    ...(sinceMs !== undefined && { since: new Date(sinceMs) }),
    ...(untilMs !== undefined && { until: untilMs === null ? null : new Date(untilMs) }),
  } as DelayWait;
}
