import { isDate } from 'node:util/types';
import type { CatchUp, DelayHeaders, OnConflict } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { cronIn, type Rule, type StoredRepeat } from '../recurrence/recurrence.js';
import { knowsZone } from '../recurrence/zone-rules.js';
import {
  checkInteger,
  type DueTime,
  parseDurationBetween,
  parseDurationMs,
  parseWhen,
} from './durations.js';
import { instantOf } from './instants.js';
import { blamedOn, checkKnownOptions, readable, shown } from './known-options.js';

const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/;
const KEY_LENGTH_MAX = 255;
const MAX_ATTEMPTS_MAX = 1_000;
const ON_CONFLICT: readonly OnConflict[] = ['replace', 'keep', 'error', 'earlier', 'later'];

/** With the flag `u`, this matches only lone surrogates. */
export const LONE_SURROGATE = /\p{Surrogate}/u;

/** The name of a kind of delay, like `order.close`: 1 to 100 characters. */
export function checkName(value: unknown): string {
  if (typeof value === 'string' && NAME_PATTERN.test(value)) return value;
  throw new DelayInvalidError(
    'name',
    `must be a text like 'order.close': 1 to 100 letters, digits and ._:/-, ` +
      `beginning with a letter or digit, not ${shown(value)}`,
  );
}

/**
 * A business key: 1 to 255 UTF-16 units, anything that Postgres can store as text. Numbers are
 * refused, not converted: `42` and `'42'` must not be two ways to say one key.
 */
export function checkKey(value: unknown): string {
  return checkText(value, 'key', KEY_LENGTH_MAX);
}

/** A group: 1 to 255 UTF-16 units, and no numbers, as for keys. */
export function checkGroup(value: unknown): string {
  return checkText(value, 'group', KEY_LENGTH_MAX);
}

/** A text of at least one UTF-16 unit that Postgres can store. */
export function checkText(value: unknown, field: string, lengthMax: number): string {
  if (typeof value !== 'string') {
    throw new DelayInvalidError(field, `must be a text, not ${shown(value)}`);
  }
  if (value.length < 1 || value.length > lengthMax) {
    throw new DelayInvalidError(
      field,
      `must have 1 to ${lengthMax} characters, but has ${value.length}`,
    );
  }
  if (value.includes('\0')) {
    throw new DelayInvalidError(field, 'must not contain NUL, which Postgres cannot store');
  }
  if (LONE_SURROGATE.test(value)) {
    throw new DelayInvalidError(field, 'must be well-formed Unicode, without lone surrogates');
  }
  return value;
}

const ID_PATTERN = /^[1-9]\d{0,15}$/;

/** The `id` of a delay, as in results and handlers: a text of digits. */
export function checkId(value: unknown): number {
  const id = typeof value === 'string' && ID_PATTERN.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(id)) return id;
  throw new DelayInvalidError('id', `must be the id of a delay, like '42', not ${shown(value)}`);
}

/** Attempts before a delay becomes a dead letter: 1 to 1,000. */
export function checkMaxAttempts(value: unknown): number {
  return checkInteger(value, 'maxAttempts', 1, MAX_ATTEMPTS_MAX);
}

export function checkOnConflict(value: unknown): OnConflict {
  const known = ON_CONFLICT.find((choice) => choice === value);
  if (known !== undefined) return known;
  throw new DelayInvalidError(
    'onConflict',
    `must be one of ${ON_CONFLICT.join(', ')}, not ${shown(value)}`,
  );
}

const HEADERS_MAX = 32;
const NAME_LENGTH_MAX = 100;
const BYTES_MAX = 4_096;

/**
 * Texts by name, like the headers of a request: at most 32, 4 KiB together.
 * @returns JSON text; null if there are none
 */
export function checkHeaders(value: unknown): string | null {
  return readable('headers', () => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new DelayInvalidError('headers', `must be an object of texts, not ${shown(value)}`);
    }
    const entries = Object.entries(value);
    if (entries.length === 0) return null;
    if (entries.length > HEADERS_MAX) {
      throw new DelayInvalidError(
        'headers',
        `must be at most ${HEADERS_MAX}, not ${entries.length}`,
      );
    }
    const headers = blamedOn('headers', () =>
      entries.map(([name, text]) => {
        checkText(name, 'name', NAME_LENGTH_MAX);
        return [name, text === '' ? '' : checkText(text, name, BYTES_MAX)] as const;
      }),
    );
    const json = JSON.stringify(Object.fromEntries(headers));
    const bytes = Buffer.byteLength(json);
    if (bytes <= BYTES_MAX) return json;
    throw new DelayInvalidError('headers', `must take at most ${BYTES_MAX} bytes, not ${bytes}`);
  });
}

/**
 * Adds headers to those of a caller. They are left out if the caller gave one of them, and the last
 * ones if there is no room.
 * @param given JSON text, as {@link checkHeaders} returns it
 */
export function withHeaders(given: string | null, added: DelayHeaders): string | null {
  const own = given === null ? {} : (JSON.parse(given) as DelayHeaders);
  const names = Object.keys(added);
  if (names.some((name) => Object.hasOwn(own, name))) return given;
  const all = Object.entries({ ...own, ...added });
  for (let count = all.length; count > all.length - names.length; count--) {
    const json = JSON.stringify(Object.fromEntries(all.slice(0, count)));
    if (count <= HEADERS_MAX && Buffer.byteLength(json) <= BYTES_MAX) return json;
  }
  return given;
}

/** Options of a recurrence that the code declares. */
export const RULE_OPTIONS = ['every', 'cron', 'timeZone', 'catchUp'];
const REPEAT_OPTIONS = [...RULE_OPTIONS, 'until', 'limit'];

const CATCH_UPS: readonly CatchUp[] = ['latest', 'each', 'none'];
const TEXT_LENGTH_MAX = 200;
const RUNS_MAX = 1_000_000;

/**
 * @param given without unknown options
 * @throws DelayInvalidError naming the option
 */
export function checkRule(given: Record<string, unknown>): Rule {
  const { catchUp = 'latest' } = given;
  return { ...intervalOf(given), catchUp: checkCatchUp(catchUp) };
}

/** The rule and its end. A duration as `until` counts from the call: see {@link GivenRepeat}. */
function checkRepeat(given: Record<string, unknown>): Pick<GivenRepeat, 'how' | 'lastsMs'> {
  const { until, limit } = given;
  const how: StoredRepeat = checkRule(given);
  if (limit !== undefined) how.limit = checkInteger(limit, 'limit', 1, RUNS_MAX);
  if (until === undefined) return { how, lastsMs: null };
  if (typeof until === 'string' || typeof until === 'number') {
    return { how, lastsMs: parseDurationMs(until, 'until') };
  }
  if (!isDate(until)) {
    throw new DelayInvalidError('until', `must be a Date or a duration, not ${shown(until)}`);
  }
  how.until = Date.parse(instantOf(until, 'until'));
  return { how, lastsMs: null };
}

function intervalOf(
  given: Record<string, unknown>,
): { every: number } | { cron: string; timeZone: string } {
  const { every, cron, timeZone } = given;
  if ((every === undefined) === (cron === undefined)) {
    throw new DelayInvalidError(
      'every|cron',
      `say how it recurs, with exactly one of them: { every: '15m' } or { cron: '0 3 * * *', timeZone: 'UTC' }`,
    );
  }
  if (every === undefined) return { cron: checkCron(cron), timeZone: checkTimeZone(timeZone) };
  if (timeZone !== undefined) {
    throw new DelayInvalidError('timeZone', 'goes with cron: every has no wall clock');
  }
  return { every: parseDurationBetween(every, 'every', '1s', '36525d') };
}

/** A name that every release of Node knows, not an offset: offsets have no daylight saving time. */
function checkTimeZone(value: unknown = 'UTC'): string {
  const timeZone = checkText(value, 'timeZone', TEXT_LENGTH_MAX);
  if (/^[A-Za-z]/.test(timeZone) && knowsZone(timeZone)) return timeZone;
  throw new DelayInvalidError(
    'timeZone',
    `must be an IANA time zone like 'Europe/Berlin', not ${shown(timeZone)}`,
  );
}

/** Not a step or a count, as in `MON-FRI/2` and `FRI#3`. */
const WEEKDAY_NUMBER = /(?:^|[,-])\d/;

/** Five fields, or six with the seconds first. A date or a year field would end the recurrence. */
function checkCron(value: unknown): string {
  const cron = checkText(value, 'cron', TEXT_LENGTH_MAX).trim();
  const fields = cron.split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    throw new DelayInvalidError(
      'cron',
      `must have five fields, like '0 3 * * *', or six with the seconds in front, not ${shown(value)}`,
    );
  }
  if (cron.includes('?') && WEEKDAY_NUMBER.test(fields.at(-1)!)) {
    throw new DelayInvalidError(
      'cron',
      `has the number of a weekday beside ?, as Quartz writes it: 2 is Monday there and Tuesday here. Write MON or TUE, not ${shown(value)}`,
    );
  }
  if (firstInstantOf(cron) !== undefined) return cron;
  throw new DelayInvalidError(
    'cron',
    `never occurs, because there is no such day: ${shown(value)}`,
  );
}

function firstInstantOf(cron: string): number | undefined {
  try {
    return cronIn(cron, 'UTC').after(0);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DelayInvalidError('cron', `must be a cron expression: ${why}`);
  }
}

function checkCatchUp(value: unknown): CatchUp {
  const known = CATCH_UPS.find((choice) => choice === value);
  if (known !== undefined) return known;
  throw new DelayInvalidError(
    'catchUp',
    `must be one of ${CATCH_UPS.join(', ')}, not ${shown(value)}`,
  );
}

/** The recurrence that a call asks for. */
export interface GivenRepeat {
  how: StoredRepeat;
  /** Whether the call sets the first run. */
  hasFirst: boolean;
  /** When it ends, in milliseconds from the call; null: `how.until`, or never. */
  lastsMs: number | null;
}

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
/** `manager` is checked elsewhere. */
const CALL_OPTIONS = [...SCHEDULE_OPTIONS, 'manager'];
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
      given['onConflict'] === undefined ? 'replace' : checkOnConflict(given['onConflict']),
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
