import { quoted } from '../delay/printable.js';
import { AssertionError } from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import type { DelayInfo } from '../delay/delay.js';
import { parseDurationMs } from '../validation/duration.js';
import { checkKnownOptions } from '../validation/known-options.js';

/** What a test takes between its schedule and its look, as long as it does not say otherwise. */
const WITHIN_DEFAULT_MS = 10_000;

/** What `expectScheduled` was given, checked. */
export interface Expected {
  dueInMs: number | undefined;
  withinMs: number;
  hasPayload: boolean;
  payload: unknown;
}

/** @throws DelayInvalidError naming the field */
export function expectedOf(value: unknown): Expected {
  const given = checkKnownOptions(value, 'expected', ['dueIn', 'within', 'payload']);
  const durationMs = (field: string): number | undefined =>
    field in given ? parseDurationMs(given[field], `expected.${field}`) : undefined;
  return {
    dueInMs: durationMs('dueIn'),
    withinMs: durationMs('within') ?? WITHIN_DEFAULT_MS,
    hasPayload: 'payload' in given,
    payload: given['payload'],
  };
}

/** Whether it will run, if nothing else is done: an attempt that runs may be the last one. */
export const isWaiting = ({ state }: DelayInfo): boolean =>
  state === 'scheduled' || state === 'retrying';

/** What is wrong with a delay that waits; undefined: nothing. */
export function mismatch(delay: DelayInfo, expected: Expected, nowMs: number): string | undefined {
  const { dueInMs, withinMs, hasPayload, payload } = expected;
  const inMs = Number(delay.wakeAt) - nowMs;
  if (dueInMs !== undefined && Math.abs(inMs - dueInMs) > withinMs) {
    return `it is due in ${timeText(inMs)}, not in ${timeText(dueInMs)} (within ${timeText(withinMs)})`;
  }
  if (hasPayload && !isDeepStrictEqual(delay.payload, payload)) {
    return `its payload is ${JSON.stringify(delay.payload)}, not ${JSON.stringify(payload)}`;
  }
  return undefined;
}

/** One delay, for a message. */
export function delayText(delay: DelayInfo, nowMs: number): string {
  const { key, state, wakeAt, lastError } = delay;
  const what = key === null ? `#${delay.id} without a key` : quoted(key);
  const when = wakeAt === null ? '' : `, due in ${timeText(Number(wakeAt) - nowMs)}`;
  const error = lastError === null ? '' : ` (${lastError})`;
  return `${what} ${state}${when}${error}`;
}

/** What every test runner takes for a failed expectation. */
export const failed = (
  message: string,
  given: { actual: unknown; expected: unknown; operator: string },
): AssertionError => new AssertionError({ message, ...given });

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** `1d 2h`, `29m 58s`, `250ms`: to the second, where there are any. */
export function timeText(ms: number): string {
  if (ms < 0) return `-${timeText(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  let rest = ms;
  const parts: string[] = [];
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.join(' ');
}
