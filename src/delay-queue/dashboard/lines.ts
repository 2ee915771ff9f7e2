import type {
  DelayAttempt,
  DelayMove,
  DelayRecord,
  DelayWait,
  ListedDelay,
} from '../core/index.js';
import type { AttemptLine, DelayLine, Instant, MoveLine, Written } from './contract.js';

const ERROR_LENGTH_MAX = 300;

export const instantText = (at: Date): Instant => at.toISOString();

export const instantTextOrNull = (at: Date | null): Instant | null => at && at.toISOString();

const commonLine = ({ id, name, key, group, attempts, ...its }: ListedDelay | DelayRecord) => ({
  id,
  name,
  key,
  group,
  attempts,
  dueAt: instantText(its.dueAt),
  createdAt: instantText(its.createdAt),
});

export const liveLine = (delay: ListedDelay): DelayLine => ({
  ...commonLine(delay),
  state: delay.state,
  wakeAt: instantTextOrNull(delay.wakeAt),
  endedAt: null,
  maxAttempts: delay.maxAttempts,
  latenessMs: null,
  error: shortened(delay.lastError),
  repeats: delay.repeat !== null,
  waitsFor: delay.waitsFor && waitLine(delay.waitsFor),
});

export const endedLine = (record: DelayRecord): DelayLine => ({
  ...commonLine(record),
  state: record.state,
  wakeAt: null,
  endedAt: instantText(record.endedAt),
  maxAttempts: null,
  latenessMs: record.latenessMs,
  error: shortened(record.error),
  repeats: false,
  waitsFor: null,
});

/** Each instant as the page reads it. */
export const withInstants = <Row extends object>(row: Row): Written<Row> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, unknown]) => [
      name,
      value instanceof Date ? instantText(value) : value,
    ]),
  ) as Written<Row>;

export const attemptLines = (log: readonly DelayAttempt[]): AttemptLine[] => log.map(withInstants);

export const moveLines = (log: readonly DelayMove[]): MoveLine[] =>
  log.map(({ call, at, from, to, by }) => withInstants({ call, at, from, to, by }));

/** Never ends in half of a surrogate pair. */
function shortened(error: string | null): string | null {
  if (error === null || error.length <= ERROR_LENGTH_MAX) return error;
  return error.slice(0, ERROR_LENGTH_MAX).replace(/[\ud800-\udbff]$/, '');
}

function waitLine(wait: DelayWait): DelayLine['waitsFor'] {
  const { what } = wait;
  return {
    what,
    ...('node' in wait && wait.node !== null && { node: wait.node }),
    ...('since' in wait && { since: instantText(wait.since) }),
    ...('until' in wait && { until: instantTextOrNull(wait.until) }),
  };
}
