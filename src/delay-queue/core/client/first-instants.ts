import { DelayInvalidError } from '../api/errors.js';
import type { DueTime } from '../config/durations.js';
import type { GivenRepeat } from '../config/repeat.js';
import type { Runner } from '../database/runner.js';
import { computedHere, firstDueMs, type StoredRepeat } from '../recurrence/recurrence.js';
import type { DelayStore } from '../store/delay.store.js';
import type { NewDelay } from '../store/rows/delay-rows.js';

/** Whether the first run or the end of a recurring delay depends on the clock. */
export const needsClock = ({ repeat = null }: NewDelay): boolean =>
  repeat !== null &&
  ((!repeat.hasFirst && 'cron' in repeat.how) ||
    repeat.lastsMs !== null ||
    repeat.how.until !== undefined);

/**
 * Sets the first run and the end of recurring delays. Reads the database's clock, once per call: a
 * node that only schedules keeps no estimate of it, and could miss tonight's instant by its own
 * clock.
 * @throws DelayInvalidError for a recurrence that ends before its first run
 */
export async function withFirstInstants(
  store: Pick<DelayStore, 'nowMs'>,
  runner: Runner,
  delays: readonly NewDelay[],
): Promise<readonly NewDelay[]> {
  if (!delays.some(needsClock)) return delays;
  const nowMs = await store.nowMs(runner);
  // Many delays of one call recur alike.
  const known = new Map<string, Pick<NewDelay, 'to' | 'repeat'>>();
  return delays.map((delay) => {
    const { repeat = null, to } = delay;
    if (repeat === null || !needsClock(delay)) return delay;
    const text = JSON.stringify([repeat, to]);
    const began = known.get(text) ?? begunAt(nowMs, repeat, to);
    known.set(text, began);
    return { ...delay, ...began };
  });
}

export function begunAt(
  nowMs: number,
  repeat: GivenRepeat,
  to: NewDelay['to'],
): { to: DueTime; repeat: GivenRepeat } {
  const { lastsMs, hasFirst } = repeat;
  const how: StoredRepeat =
    lastsMs === null ? repeat.how : { ...repeat.how, until: nowMs + lastsMs };
  const { until = Infinity, ...rule } = how;
  const givenMs = to.kind === 'at' ? Date.parse(to.iso) : nowMs + to.ms;
  const firstMs = hasFirst || 'every' in how ? givenMs : firstDueMs(rule, nowMs);
  if (firstMs > until) {
    throw new DelayInvalidError(
      'repeat.until',
      `must not be before the first run, which is due at ${toIso(firstMs)}, but is ${toIso(until)}`,
    );
  }
  const computed = hasFirst ? {} : computedHere(rule, firstMs);
  return { to: dueAt(firstMs), repeat: { ...repeat, how: { ...how, ...computed } } };
}

export const dueAt = (ms: number): DueTime => ({ kind: 'at', iso: toIso(ms) });

const toIso = (ms: number): string => new Date(Math.ceil(ms)).toISOString();
