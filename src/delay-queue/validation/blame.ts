import { DelayConfigError, DelayInvalidError } from '../delay/delay.errors.js';

/**
 * Runs a check of one part and names the part in its error: `key` becomes `items[3].key`.
 *
 * @throws DelayInvalidError
 */
export function within<T>(part: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new DelayInvalidError(`${part}.${error.field}`, error.why);
  }
}

/**
 * Runs a check of a value that stands in code or configuration, not in a call. If the check refuses the
 * value, the application does not start.
 *
 * @param where whose configuration: `DelayQueueModule`, `OrderTimers.close`
 * @throws DelayConfigError `<where>: <field>: <why>`
 */
export function atStart<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new DelayConfigError(`${where}: ${error.message}`);
  }
}

/**
 * Reads a caller's object. Its getters and proxies may throw anything. The message does not repeat what they
 * threw, because it may hold private data.
 *
 * @throws DelayInvalidError of that field
 */
export function readable<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw isRefusal(error) ? error : new DelayInvalidError(field, UNREADABLE);
  }
}

export const UNREADABLE = 'cannot be read: a getter or proxy throws';

export const isRefusal = (error: unknown): error is DelayInvalidError =>
  isOf(error, DelayInvalidError);

/** What was thrown may be a revoked proxy, for which `instanceof` itself throws. */
export function isOf<Thrown extends Error>(
  error: unknown,
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever it is made of
  type: new (...parts: any[]) => Thrown,
): error is Thrown {
  try {
    return error instanceof type;
  } catch {
    return false;
  }
}
