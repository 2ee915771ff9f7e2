import { DelayConfigError, DelayInvalidError } from '../api/errors.js';

/**
 * Runs a check of one part and adds the part to its error: `key` becomes `items[3].key`.
 * @throws DelayInvalidError
 */
export function blamedOn<T>(part: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new DelayInvalidError(`${part}.${error.field}`, error.why);
  }
}

/**
 * Runs a check of a value in code or configuration. A refused value stops the start.
 * @param where the owner of the configuration: `DelayQueueModule`, `OrderTimers.close`
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
 * Reads a caller's object, whose getters and proxies may throw anything. The message does not
 * repeat what they threw: it may hold private data.
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
  isInstance(error, DelayInvalidError);

/** `instanceof` itself throws if the thrown value is a revoked proxy. */
export function isInstance<Thrown extends Error>(
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
