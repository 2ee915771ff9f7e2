import type { OnConflict } from '../delay/delay.js';
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
/** The manager is checked elsewhere. */
const CALL_OPTIONS = [...SCHEDULE_OPTIONS, 'manager'];
const ITEM_PARTS = [...SCHEDULE_OPTIONS, 'name', 'payload'];

/** @throws DelayInvalidError naming the option; an unknown option gets a suggestion */
export const parseScheduleOptions = (options: unknown): ParsedSchedule =>
  parsed(checkKnownOptions(options, 'options', CALL_OPTIONS));

function parsed(given: Record<string, unknown>): ParsedSchedule {
  return {
    to: parseWhen(given),
    key: given['key'] === undefined ? null : checkKey(given['key']),
    onConflict:
      given['onConflict'] === undefined ? 'replace' : checkOnConflict(given['onConflict']),
    maxAttempts: given['maxAttempts'] === undefined ? null : checkMaxAttempts(given['maxAttempts']),
  };
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
