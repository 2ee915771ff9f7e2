import { isAnyArrayBuffer, isDate, isMap, isPromise, isSet } from 'node:util/types';

import { quoted } from '../delay/printable.js';
import { cut } from './shown.js';

/** Of a key in a path. */
const STEP_LENGTH_MAX = 40;

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** `Array.prototype` is an array itself; the prototype of a subclass is not. */
export function isPlainArray(value: object): value is unknown[] {
  return Array.isArray(value) && Array.isArray(Object.getPrototypeOf(value));
}

/** By shape, not by this realm's `Object.prototype`: `structuredClone` and `vm` answer objects of another realm. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  return (
    typeof prototype === 'object' &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'isPrototypeOf')
  );
}

/** Why it is neither, and what to send instead. */
export function notPlain(value: object): string {
  if (isDate(value)) return 'is a Date; send date.toISOString()';
  if (isMap(value)) return 'is a Map; send Object.fromEntries(map)';
  if (isSet(value)) return 'is a Set; send [...set]';
  if (isPromise(value)) return 'is a Promise; await it first';
  if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value)) {
    return 'is binary data; send it as base64 text';
  }
  const name: unknown = Reflect.get(value, 'constructor')?.name;
  const kind = typeof name === 'string' && name !== '' ? name : 'some class';
  return `is an instance of ${cut(kind)}; send a plain object`;
}

/** How a path goes on: `.orderId`, `["a b"]`, `[0]`. */
export function pathStep(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  if (step.length <= STEP_LENGTH_MAX && IDENTIFIER.test(step)) return `.${step}`;
  return `[${quoted(step, STEP_LENGTH_MAX)}]`;
}

/** Length of a number as `jsonb` writes it; `5e-324` has 326 characters. What needs an `e+` is refused. */
export function writtenOut(text: string): number {
  if (!text.includes('e-')) return text.length;
  const [mantissa = '', exponent = ''] = text.split('e-');
  const sign = mantissa.startsWith('-') ? 1 : 0;
  const digits = mantissa.replace(/\D/g, '').length;
  return sign + '0.'.length + Number(exponent) - 1 + digits;
}
