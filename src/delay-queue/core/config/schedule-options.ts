import type { OnConflict } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { asGiven, checkGroup, checkKey, choice } from './checks.js';
import { type DueTime, parseDurationMs, parseWhen } from './durations.js';
import { checkHeaders } from './headers.js';
import { type Parsed, parseByTable } from './known-options.js';
import { MAX_ATTEMPTS } from './options.js';
import { type GivenRepeat, parseRepeat } from './repeat.js';

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

export const ON_CONFLICT: readonly OnConflict[] = ['replace', 'keep', 'error', 'earlier', 'later'];

const SCHEDULE = {
  after: asGiven,
  at: asGiven,
  key: checkKey,
  onConflict: [choice(ON_CONFLICT), 'replace'],
  maxWait: parseDurationMs,
  running: choice(['leave', 'rerun']),
  maxAttempts: MAX_ATTEMPTS,
  group: checkGroup,
  headers: checkHeaders,
  repeat: parseRepeat,
} as const;
/** `manager` and `tx` are checked where the transaction is chosen. */
const CALL = { ...SCHEDULE, manager: asGiven, tx: asGiven } as const;
/** `name` and `payload` are checked where the delay is made. */
const ITEM = { ...SCHEDULE, name: asGiven, payload: asGiven } as const;

/** @throws DelayInvalidError naming the option; an unknown one gets a suggestion */
export const parseScheduleOptions = (options: unknown): ParsedSchedule =>
  combined(parseByTable(options, 'options', CALL));

/** One item of `scheduleMany`. Its name and payload are read here and checked elsewhere. */
export function parseScheduleItem(item: unknown): {
  name: unknown;
  payload: unknown;
  options: ParsedSchedule;
} {
  const given = parseByTable(item, 'options', ITEM);
  return { name: given.name, payload: given.payload, options: combined(given) };
}

type Given = Parsed<typeof SCHEDULE>;

function combined(given: Given): ParsedSchedule {
  const { after, at, repeat, maxWait = null, running, onConflict } = given;
  const hasFirst = after !== undefined || at !== undefined;
  const to: DueTime =
    repeat === undefined || hasFirst
      ? parseWhen(given)
      : { kind: 'after', ms: 'every' in repeat.how ? repeat.how.every : 0 };
  if (repeat !== undefined) refuseBesideRepeat(given);
  else if (maxWait !== null) checkMaxWait(given, maxWait, to);
  if (running === 'rerun' && given.key === undefined) {
    throw new DelayInvalidError('running', 'needs a key');
  }
  const { key = null, maxAttempts = null, group = null, headers = null } = given;
  return {
    to,
    repeat: repeat === undefined ? null : { ...repeat, hasFirst },
    maxWaitMs: maxWait,
    reruns: running === 'rerun',
    key,
    onConflict,
    maxAttempts,
    group,
    headers,
  };
}

function refuseBesideRepeat({ key, onConflict, maxWait, running }: Given): void {
  if (key === undefined) {
    throw new DelayInvalidError(
      'key',
      'is required with `repeat`: it identifies the delay to change or cancel',
    );
  }
  if (onConflict === 'earlier' || onConflict === 'later') {
    throw new DelayInvalidError(
      'onConflict',
      `must be replace, keep or error with \`repeat\`, not "${onConflict}": a recurring delay has many due times to compare`,
    );
  }
  if (maxWait === undefined && running === undefined) return;
  throw new DelayInvalidError(
    maxWait === undefined ? 'running' : 'maxWait',
    'is only for a delay that is due once, not beside `repeat`',
  );
}

/** Not with `at`: only the database knows whether both contradict each other. */
function checkMaxWait({ key, onConflict }: Given, maxWaitMs: number, to: DueTime): void {
  const why =
    key === undefined
      ? 'needs a key'
      : onConflict !== 'replace'
        ? "is only for `onConflict: 'replace'`"
        : to.kind !== 'after'
          ? 'is only for `after`, not for `at`'
          : maxWaitMs < to.ms && `must be at least \`after\`, not ${maxWaitMs} ms`;
  if (why !== false) throw new DelayInvalidError('maxWait', why);
}
