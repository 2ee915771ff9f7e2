import {
  isAnyArrayBuffer,
  isDate,
  isMap,
  isNativeError,
  isPromise,
  isRegExp,
  isSet,
} from 'node:util/types';
import { DelayConfigError, DelayInvalidError } from '../api/errors.js';
import { printable, quoted } from '../api/printable.js';

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
  isOf(error, DelayInvalidError);

/** `instanceof` itself throws if the thrown value is a revoked proxy. */
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

const SHOWN_LENGTH_MAX = 40;

/** A refused value, short enough for a message. Objects are named by kind only. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > SHOWN_LENGTH_MAX
        ? `a text of ${value.length} characters`
        : quoted(value);
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'object':
      return value === null ? 'null' : kindOf(value);
    default:
      return isClass(value) ? 'a class' : `a ${typeof value}`;
  }
}

/** The beginning of a foreign name. */
export const cut = (name: string): string => printable(name, SHOWN_LENGTH_MAX);

function kindOf(value: object): string {
  try {
    return Array.isArray(value) ? 'an array' : (builtInKind(value) ?? 'an object');
  } catch {
    return 'a revoked proxy';
  }
}

/** Tested by internal slots: an object may come from another realm. Proxies do not match. */
const BUILT_IN: readonly [kind: string, isOfIt: (value: unknown) => boolean][] = [
  ['a Promise', isPromise],
  ['a Date', isDate],
  ['a Map', isMap],
  ['a Set', isSet],
  ['a RegExp', isRegExp],
  ['an Error', isNativeError],
  ['binary data', (value) => ArrayBuffer.isView(value) || isAnyArrayBuffer(value)],
];

/** The kind of an object that cannot be options, like `a Promise`; undefined for all others. */
export const builtInKind = (value: object): string | undefined =>
  Object.getPrototypeOf(value) === Object.prototype
    ? undefined
    : BUILT_IN.find(([, isOfIt]) => isOfIt(value))?.[0];

/** Calling a class throws, but only at the call. */
export const isClass = (value: unknown): boolean =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
