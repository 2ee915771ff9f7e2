import {
  isAnyArrayBuffer,
  isDate,
  isMap,
  isNativeError,
  isPromise,
  isRegExp,
  isSet,
} from 'node:util/types';

import { printable, quoted } from '../delay/printable.js';

const SHOWN_LENGTH_MAX = 40;

/** A refused value, short enough for an error message; objects are named by kind only. */
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

/** The beginning of a name that is not ours. */
export const cut = (name: string): string => printable(name, SHOWN_LENGTH_MAX);

function kindOf(value: object): string {
  try {
    return Array.isArray(value) ? 'an array' : (builtInKind(value) ?? 'an object');
  } catch {
    return 'a revoked proxy';
  }
}

/** By what they are inside: they may come from another realm, and a proxy of one is none. */
const BUILT_IN: readonly [kind: string, isOfIt: (value: unknown) => boolean][] = [
  ['a Promise', isPromise],
  ['a Date', isDate],
  ['a Map', isMap],
  ['a Set', isSet],
  ['a RegExp', isRegExp],
  ['an Error', isNativeError],
  ['binary data', (value) => ArrayBuffer.isView(value) || isAnyArrayBuffer(value)],
];

/** What an object is that cannot be meant as options: `a Promise`; undefined for all others. */
export const builtInKind = (value: object): string | undefined =>
  Object.getPrototypeOf(value) === Object.prototype
    ? undefined
    : BUILT_IN.find(([, isOfIt]) => isOfIt(value))?.[0];

/** To call one throws, and not before it is called. */
export const isClass = (value: unknown): boolean =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
