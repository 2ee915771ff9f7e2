import { firstMsOf } from '../../recurrence/recurrence.js';
import type { DelayStore } from '../../store/delay.store.js';
import type { NewDelay } from '../../store/wire/delay-rows.js';
import type { Runner } from '../../store/wire/runner.js';

/** It recurs by a wall clock, and its call does not say when it runs for the first time. */
export const needsClock = ({ repeat = null }: NewDelay): boolean =>
  repeat !== null && !repeat.hasFirst && 'cron' in repeat.how;

/**
 * The same delays, each with its due time. A node that only schedules keeps no estimate of the database's clock, and with its
 * own one it could miss tonight's instant: so the clock is read, once for a call.
 */
export async function withFirstInstants(
  store: Pick<DelayStore, 'nowMs'>,
  runner: Runner,
  delays: readonly NewDelay[],
): Promise<readonly NewDelay[]> {
  if (!delays.some(needsClock)) return delays;
  const nowMs = await store.nowMs(runner);
  // Many of one call recur alike.
  const known = new Map<string, string>();
  return delays.map((delay) => {
    const { repeat = null } = delay;
    if (repeat === null || !needsClock(delay)) return delay;
    const text = JSON.stringify(repeat.how);
    const iso = known.get(text) ?? new Date(firstMsOf(repeat.how, nowMs)).toISOString();
    known.set(text, iso);
    return { ...delay, to: { kind: 'at', iso } };
  });
}
