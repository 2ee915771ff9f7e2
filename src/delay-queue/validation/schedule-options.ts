import type { OnConflict } from '../delay.js';
import { checkKnownOptions } from './known-options.js';
import { checkKey, checkMaxAttempts, checkOnConflict } from './names.js';
import { parseWhen, type DueTime } from './when.js';

/** The options of one `schedule`, checked and with their defaults. */
export interface ParsedSchedule {
  to: DueTime;
  key: string | null;
  onConflict: OnConflict;
  /** `null`: the handler's. */
  maxAttempts: number | null;
}

const SCHEDULE_OPTIONS = ['after', 'at', 'key', 'onConflict', 'maxAttempts'];

/**
 * @param others names that may stand beside the options: `manager` for `schedule`, `name` and
 * `payload` for an item of `scheduleMany`. They are not looked at.
 * @throws DelayInvalidError naming the option; an unknown option gets a suggestion
 */
export function parseScheduleOptions(
  options: unknown,
  others: readonly string[] = ['manager'],
): ParsedSchedule {
  const given = checkKnownOptions(options, 'options', [...SCHEDULE_OPTIONS, ...others]);
  return {
    to: parseWhen(given),
    key: given['key'] === undefined ? null : checkKey(given['key']),
    onConflict:
      given['onConflict'] === undefined ? 'replace' : checkOnConflict(given['onConflict']),
    maxAttempts: given['maxAttempts'] === undefined ? null : checkMaxAttempts(given['maxAttempts']),
  };
}

const ITEM_PARTS = ['name', 'payload'];

/** One item of `scheduleMany`; its name and payload are read, but not looked at. */
export function parseScheduleItem(item: unknown): {
  name: unknown;
  payload: unknown;
  options: ParsedSchedule;
} {
  const given = checkKnownOptions(item, 'options', [...SCHEDULE_OPTIONS, ...ITEM_PARTS]);
  return {
    name: given['name'],
    payload: given['payload'],
    options: parseScheduleOptions(given, ITEM_PARTS),
  };
}
