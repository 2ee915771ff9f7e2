import type { DelayWait, ListedDelay } from '../api/delay.js';
import type { DelayLine } from './contract.js';

const ERROR_SHOWN_MAX = 300;

/** A live delay as a line of a list. */
export const lineOfLive = (delay: ListedDelay): DelayLine => ({
  id: delay.id,
  name: delay.name,
  key: delay.key,
  group: delay.group,
  state: delay.state,
  dueAt: delay.dueAt.toISOString(),
  wakeAt: delay.wakeAt?.toISOString() ?? null,
  createdAt: delay.createdAt.toISOString(),
  endedAt: null,
  attempts: delay.attempts,
  maxAttempts: delay.maxAttempts,
  latenessMs: null,
  error: delay.lastError?.slice(0, ERROR_SHOWN_MAX) ?? null,
  repeats: delay.repeat !== null,
  waitsFor: delay.waitsFor === null ? null : waitOf(delay.waitsFor),
});

function waitOf(wait: DelayWait): DelayLine['waitsFor'] {
  const { what } = wait;
  return {
    what,
    ...('node' in wait && wait.node !== null && { node: wait.node }),
    ...('since' in wait && { since: wait.since.toISOString() }),
    ...('until' in wait && { until: wait.until?.toISOString() ?? null }),
  };
}
