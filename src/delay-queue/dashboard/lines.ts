import type { DelayAttempt, DelayMove, DelayRecord, DelayWait, ListedDelay } from '../api/delay.js';
import type { AttemptLine, DelayLine, Instant, MoveLine } from './contract.js';

const ERROR_LENGTH_MAX = 300;

export const instantText = (at: Date): Instant => at.toISOString();

export const instantOrNull = (at: Date | null): Instant | null => at && at.toISOString();

export const liveLine = (delay: ListedDelay): DelayLine => ({
  id: delay.id,
  name: delay.name,
  key: delay.key,
  group: delay.group,
  state: delay.state,
  dueAt: instantText(delay.dueAt),
  wakeAt: instantOrNull(delay.wakeAt),
  createdAt: instantText(delay.createdAt),
  endedAt: null,
  attempts: delay.attempts,
  maxAttempts: delay.maxAttempts,
  latenessMs: null,
  error: shortened(delay.lastError),
  repeats: delay.repeat !== null,
  waitsFor: delay.waitsFor && waitOf(delay.waitsFor),
});

export const endedLine = (record: DelayRecord): DelayLine => ({
  id: record.id,
  name: record.name,
  key: record.key,
  group: record.group,
  state: record.state,
  dueAt: instantText(record.dueAt),
  wakeAt: null,
  createdAt: instantText(record.createdAt),
  endedAt: instantText(record.endedAt),
  attempts: record.attempts,
  maxAttempts: null,
  latenessMs: record.latenessMs,
  error: shortened(record.error),
  repeats: false,
  waitsFor: null,
});

export const attemptLines = (log: readonly DelayAttempt[]): AttemptLine[] =>
  log.map(({ startedAt, endedAt, ...rest }) => ({
    ...rest,
    startedAt: instantText(startedAt),
    endedAt: instantOrNull(endedAt),
  }));

export const moveLines = (log: readonly DelayMove[]): MoveLine[] =>
  log.map(({ call, at, from, to, by }) => ({
    call,
    at: instantText(at),
    from: instantText(from),
    to: instantText(to),
    by,
  }));

/** Without half of a character at its end. */
function shortened(error: string | null): string | null {
  if (error === null || error.length <= ERROR_LENGTH_MAX) return error;
  return error.slice(0, ERROR_LENGTH_MAX).replace(/[\ud800-\udbff]$/, '');
}

function waitOf(wait: DelayWait): DelayLine['waitsFor'] {
  const { what } = wait;
  return {
    what,
    ...('node' in wait && wait.node !== null && { node: wait.node }),
    ...('since' in wait && { since: instantText(wait.since) }),
    ...('until' in wait && { until: instantOrNull(wait.until) }),
  };
}
