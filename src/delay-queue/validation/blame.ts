import { DelayConfigError, DelayInvalidError } from '../delay.errors.js';

/**
 * Runs a check of one part and names the part in its error: `key` becomes `items[3].key`.
 *
 * @throws DelayInvalidError
 */
export function within<T>(part: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof DelayInvalidError)) throw error;
    throw new DelayInvalidError(`${part}.${error.field}`, error.why);
  }
}

/**
 * Runs a check of something that is written in code or configuration, not in a call: what it
 * refuses stops the start.
 *
 * @param where whose configuration: `DelayQueueModule`, `OrderTimers.close`
 * @throws DelayConfigError `<where>: <field>: <why>`
 */
export function atStart<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof DelayInvalidError)) throw error;
    throw new DelayConfigError(`${where}: ${error.message}`);
  }
}
