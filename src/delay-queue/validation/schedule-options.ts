import type { OnConflict } from '../delay/delay.js';
import { DelayInvalidError } from '../delay/delay.errors.js';
import { parseDurationMs } from './duration.js';
import { shown } from './shown.js';
import { checkKnownOptions } from './known-options.js';
import { checkHeaders } from './headers.js';
import { checkGroup, checkKey, checkMaxAttempts, checkOnConflict } from './names.js';
import { parseWhen, type DueTime } from './when.js';

/** The options of one `schedule`, checked and with their defaults. */
export interface ParsedSchedule {
  to: DueTime;
  key: string | null;
  onConflict: OnConflict;
  maxWaitMs: number | null;
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
  'maxAttempts',
  'group',
  'headers',
];
/** The manager is checked elsewhere. */
const CALL_OPTIONS = [...SCHEDULE_OPTIONS, 'manager'];
const ITEM_PARTS = [...SCHEDULE_OPTIONS, 'name', 'payload'];

/** @throws DelayInvalidError naming the option; an unknown option gets a suggestion */
export const parseScheduleOptions = (options: unknown): ParsedSchedule =>
  parsed(checkKnownOptions(options, 'options', CALL_OPTIONS));

type Given = Record<string, unknown>;

function parsed(given: Given): ParsedSchedule {
  const to = parseWhen(given);
  return {
    to,
    maxWaitMs: given['maxWait'] === undefined ? null : maxWaitOf(given, to),
    key: given['key'] === undefined ? null : checkKey(given['key']),
    onConflict:
      given['onConflict'] === undefined ? 'replace' : checkOnConflict(given['onConflict']),
    maxAttempts: given['maxAttempts'] === undefined ? null : checkMaxAttempts(given['maxAttempts']),
    group: given['group'] === undefined ? null : checkGroup(given['group']),
    headers: given['headers'] === undefined ? null : checkHeaders(given['headers']),
  };
}

/** Not beside `at`: the instants that it could contradict are the database's to know. */
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

/** One item of `scheduleMany`; its name and payload are read here, and checked elsewhere. */
export function parseScheduleItem(item: unknown): {
  name: unknown;
  payload: unknown;
  options: ParsedSchedule;
} {
  const given = checkKnownOptions(item, 'options', ITEM_PARTS);
  return { name: given['name'], payload: given['payload'], options: parsed(given) };
}
