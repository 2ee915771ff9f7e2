import type { OnConflict } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { checkGroup, checkInteger, checkKey, oneOf } from './checks.js';
import { type DueTime, parseDurationMs, parseWhen } from './durations.js';
import { checkHeaders } from './headers.js';
import { blamedOn, checkKnownOptions, shown } from './known-options.js';
import { checkRepeat, type GivenRepeat, REPEAT_OPTIONS } from './repeat.js';

export const ON_CONFLICT: readonly OnConflict[] = ['replace', 'keep', 'error', 'earlier', 'later'];
export const MAX_ATTEMPTS_MAX = 1_000;

/** Options of one `schedule`, checked and with defaults. */
export interface ParsedSchedule {
  /** For `cron` without a first run, the writer computes it from the database's clock. */
  to: DueTime;
  repeat: GivenRepeat | null;
  key: string | null;
  onConflict: OnConflict;
  maxWaitMs: number | null;
  reruns: boolean;
  /** `null`: the handler's. */
  maxAttempts: number | null;
  group: string | null;
  /** As JSON text. */
  headers: string | null;
}

const SCHEDULE_OPTIONS = [
  'after',
  'at',
  'key',
  'onConflict',
  'maxWait',
  'running',
  'maxAttempts',
  'group',
  'headers',
  'repeat',
];
/** `manager` and `tx` are checked elsewhere. */
const CALL_OPTIONS = [...SCHEDULE_OPTIONS, 'manager', 'tx'];
const ITEM_PARTS = [...SCHEDULE_OPTIONS, 'name', 'payload'];

/** @throws DelayInvalidError naming the option; an unknown one gets a suggestion */
export const parseScheduleOptions = (options: unknown): ParsedSchedule =>
  parsed(checkKnownOptions(options, 'options', CALL_OPTIONS));

type Given = Record<string, unknown>;

function parsed(given: Given): ParsedSchedule {
  const repeat = given['repeat'] === undefined ? null : repeatOf(given);
  const to = repeat === null || repeat.hasFirst ? parseWhen(given) : firstOf(repeat);
  return {
    to,
    repeat,
    maxWaitMs: given['maxWait'] === undefined ? null : maxWaitOf(given, to),
    reruns: given['running'] !== undefined && rerunsOf(given),
    key: given['key'] === undefined ? null : checkKey(given['key']),
    onConflict:
      given['onConflict'] === undefined
        ? 'replace'
        : oneOf(ON_CONFLICT)(given['onConflict'], 'onConflict'),
    maxAttempts: given['maxAttempts'] === undefined ? null : checkMaxAttempts(given['maxAttempts']),
    group: given['group'] === undefined ? null : checkGroup(given['group']),
    headers: given['headers'] === undefined ? null : checkHeaders(given['headers']),
  };
}

function repeatOf({ repeat, key, onConflict, maxWait, running, after, at }: Given): GivenRepeat {
  const given = checkKnownOptions(repeat, 'repeat', REPEAT_OPTIONS);
  const read = blamedOn('repeat', () => checkRepeat(given));
  if (key === undefined) {
    throw new DelayInvalidError(
      'key',
      'is required with `repeat`: it identifies the delay to change or cancel',
    );
  }
  if (onConflict === 'earlier' || onConflict === 'later') {
    throw new DelayInvalidError(
      'onConflict',
      `must be replace, keep or error with \`repeat\`, not ${shown(onConflict)}: a recurring delay has many due times to compare`,
    );
  }
  if (maxWait !== undefined) {
    throw new DelayInvalidError(
      'maxWait',
      'is only for a delay that is due once, not beside `repeat`',
    );
  }
  if (running !== undefined) {
    throw new DelayInvalidError(
      'running',
      'is only for a delay that is due once, not beside `repeat`',
    );
  }
  return { ...read, hasFirst: after !== undefined || at !== undefined };
}

const firstOf = ({ how }: GivenRepeat): DueTime => ({
  kind: 'after',
  ms: 'every' in how ? how.every : 0,
});

/** Not with `at`: only the database knows whether both contradict each other. */
function maxWaitOf({ maxWait, key, onConflict = 'replace' }: Given, to: DueTime): number {
  const maxWaitMs = parseDurationMs(maxWait, 'maxWait');
  if (key === undefined) throw new DelayInvalidError('maxWait', 'needs a key');
  if (onConflict !== 'replace') {
    throw new DelayInvalidError('maxWait', "is only for `onConflict: 'replace'`");
  }
  if (to.kind !== 'after')
    throw new DelayInvalidError('maxWait', 'is only for `after`, not for `at`');
  if (maxWaitMs < to.ms) {
    throw new DelayInvalidError('maxWait', `must be at least \`after\`, not ${shown(maxWait)}`);
  }
  return maxWaitMs;
}

function rerunsOf({ running, key }: Given): boolean {
  if (running !== 'leave' && running !== 'rerun') {
    throw new DelayInvalidError('running', `must be 'leave' or 'rerun', not ${shown(running)}`);
  }
  if (running === 'rerun' && key === undefined)
    throw new DelayInvalidError('running', 'needs a key');
  return running === 'rerun';
}

/** One item of `scheduleMany`. Its name and payload are read here and checked elsewhere. */
export function parseScheduleItem(item: unknown): {
  name: unknown;
  payload: unknown;
  options: ParsedSchedule;
} {
  const given = checkKnownOptions(item, 'options', ITEM_PARTS);
  return { name: given['name'], payload: given['payload'], options: parsed(given) };
}

/** Attempts before a delay becomes a dead letter: 1 to 1,000. */
export function checkMaxAttempts(value: unknown): number {
  return checkInteger(value, 'maxAttempts', 1, MAX_ATTEMPTS_MAX);
}
