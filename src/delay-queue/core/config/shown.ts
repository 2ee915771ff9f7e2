import {
  isAnyArrayBuffer,
  isDate,
  isMap,
  isNativeError,
  isPromise,
  isRegExp,
  isSet,
} from 'node:util/types';
import { printable, quoted } from '../api/error-text.js';

export const SHOWN_LENGTH_MAX = 40;

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
      return value === null ? 'null' : objectKind(value);
    default:
      return isClass(value) ? 'a class' : `a ${typeof value}`;
  }
}

/** The beginning of a foreign name. */
export const cut = (name: string): string => printable(name, SHOWN_LENGTH_MAX);

function objectKind(value: object): string {
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
