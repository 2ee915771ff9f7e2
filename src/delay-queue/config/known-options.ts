import { isAnyArrayBuffer, isDate, isMap, isPromise, isSet } from 'node:util/types';
import { DelayInvalidError } from '../api/errors.js';
import { quoted } from '../api/printable.js';
import { builtInKind, cut, readable, shown } from './blame.js';

/**
 * The options that are given, each read once. An unknown name is refused: if a misspelt option were ignored,
 * production would run with the default.
 *
 * @param field what the object is called in the message
 * @returns a copy without those that are `undefined`
 * @throws DelayInvalidError naming the unknown option, with the nearest known one
 */
export function checkKnownOptions(
  options: unknown,
  field: string,
  known: readonly string[],
): Record<string, unknown> {
  return readable(field, () => {
    const record = recordOf(options, field);
    refuseUnknown(record, field, known);
    return givenOf(record, field, known);
  });
}

/**
 * Some of the options that are given, each read once; others may stand beside them.
 *
 * @returns a copy without those that are `undefined`
 * @throws DelayInvalidError for what is no object of options
 */
export function readOptions(
  options: unknown,
  field: string,
  names: readonly string[],
): Record<string, unknown> {
  return readable(field, () => givenOf(recordOf(options, field), field, names));
}

/**
 * Own properties alone, into an object that inherits none: what another package has put into `Object.prototype` is no
 * option. A loop: `scheduleMany` reads ten thousand of them.
 */
function givenOf(
  record: Record<string, unknown>,
  field: string,
  names: readonly string[],
): Record<string, unknown> {
  const given = Object.create(null) as Record<string, unknown>;
  for (const name of names) {
    const value = ownOption(record, name, field);
    if (value !== undefined) given[name] = value;
  }
  return given;
}

/**
 * One option, if it is the object's own.
 *
 * @param field what the object is called in the message
 * @throws DelayInvalidError for one that is inherited: it was meant, and would be left out without a word
 */
export function ownOption<Options extends object, Name extends keyof Options & string>(
  options: Options,
  name: Name,
  field: string,
): Options[Name] | undefined {
  // Read in any case: a proxy that throws is found here, and not behind this door.
  const value = options[name];
  if (value === undefined || Object.hasOwn(options, name)) return value;
  if (name in Object.prototype) return undefined;
  throw new DelayInvalidError(
    `${field}.${name}`,
    'is inherited from a prototype, and options are read from the object itself: give a plain object',
  );
}

function refuseUnknown(options: object, field: string, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const suggestion = nearest(name, known);
    throw new DelayInvalidError(
      `${field}.${cut(name)}`,
      suggestion === undefined
        ? `is not an option; there are ${known.join(', ')}`
        : `is not an option; did you mean ${suggestion}?`,
    );
  }
}

/** Of a promise, a Date or a Map no option would be read: it would count as all defaults. */
function recordOf(value: unknown, field: string): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isObject && builtInKind(value) === undefined) return value as Record<string, unknown>;
  throw new DelayInvalidError(field, `must be an object, not ${shown(value)}`);
}

/** Long names are cut, because the distance costs the product of both lengths. */
const COMPARED_LENGTH_MAX = 40;

function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = name.slice(0, COMPARED_LENGTH_MAX).toLowerCase();
  const distanceMax = Math.max(2, Math.floor(wanted.length / 3));
  return known
    .map((option) => ({ option, distance: editDistance(wanted, option.toLowerCase()) }))
    .filter(({ distance }) => distance <= distanceMax)
    .toSorted((a, b) => a.distance - b.distance)[0]?.option;
}

/** Levenshtein, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [line, letter] of from.split('').entries()) {
    const next = [line + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

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
