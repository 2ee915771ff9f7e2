import { isAnyArrayBuffer, isDate, isMap, isPromise, isSet } from 'node:util/types';
import { quoted } from '../api/error-text.js';
import { DelayInvalidError } from '../api/errors.js';
import { isPlainArray, LONE_SURROGATE } from './checks.js';
import { isRefusal, UNREADABLE } from './refusals.js';
import { cut } from './shown.js';

/** 64 KiB: payloads identify things, tables hold the data. */
export const PAYLOAD_BYTES_MAX = 65_536;

/** Nested containers, the payload included. Recursion is safe at this depth. */
const DEPTH_MAX = 64;

/** `jsonb` writes a space after `,` and `:`. */
const SEPARATOR_BYTES = 2;

/** The shortest item is a digit and a separator. The brackets stand for the last separator. */
const ELEMENT_BYTES_MIN = 1 + SEPARATOR_BYTES;

/** The same for a member, whose key has quotes. */
const MEMBER_BYTES_MIN = 2 + ELEMENT_BYTES_MIN;

/**
 * JSON text of a payload that `jsonb` returns deeply equal.
 *
 * Accepted: plain objects, arrays, texts, finite numbers, booleans, `null`. Anything that JSON or
 * `jsonb` would drop, change or refuse is an error, so nothing is lost silently. Two things do
 * change: `-0` becomes `0` (`jsonb` has no other zero), and `jsonb` orders keys itself. `toJSON` is
 * never called.
 *
 * ```ts
 * encodePayload({ orderId: '42' }, 65_536);             // '{"orderId":"42"}'
 * encodePayload({ items: [{ price: NaN }] }, 65_536);   // DelayInvalidError: payload.items[0].price: …
 * ```
 * @param bytesMax UTF-8 limit of the text that is read back. It is longer than the text sent:
 * `jsonb` writes numbers without exponents, and a space after `,` and `:`. Encoding stops at the
 * limit
 * @throws DelayInvalidError with the exact path; its text never holds payload values
 */
export function encodePayload(payload: unknown, bytesMax: number): string {
  return new PayloadEncoder(bytesMax).encode(payload);
}

class PayloadEncoder {
  private text = '';
  /** Of the text that is read back. */
  private bytes = 0;
  private readonly path: (string | number)[] = [];
  /** The containers around the current value: meeting one again is a cycle. */
  private readonly ancestors = new Set<object>();

  constructor(private readonly bytesMax: number) {}

  encode(payload: unknown): string {
    try {
      this.value(payload);
    } catch (error) {
      if (isRefusal(error)) throw error;
      // The path still names the place. The thrown text may hold private data and is not repeated.
      throw this.invalid(UNREADABLE);
    }
    return this.text;
  }

  private value(value: unknown): void {
    switch (typeof value) {
      case 'string':
        return this.string(value, 'the text');
      case 'number':
        return this.number(value);
      case 'boolean':
        return this.emit(String(value));
      case 'object':
        return value === null ? this.emit('null') : this.container(value);
      case 'undefined':
        throw this.invalid('is undefined, which JSON drops; leave it out or send null');
      case 'bigint':
        throw this.invalid('is a bigint, which JSON does not have; send it as a string');
      default:
        throw this.invalid(`is a ${typeof value}, which JSON does not have`);
    }
  }

  private string(text: string, what: string): void {
    // A UTF-16 unit takes at least one byte: refuses a huge text before copying it.
    if (text.length > this.bytesMax - this.bytes) throw this.tooLarge();
    if (text.includes('\0')) {
      throw this.invalid(`${what} contains NUL, which Postgres cannot store`);
    }
    if (LONE_SURROGATE.test(text)) {
      throw this.invalid(`${what} contains a lone surrogate, which is not well-formed Unicode`);
    }
    const json = JSON.stringify(text);
    this.emit(json, Buffer.byteLength(json));
  }

  private number(number: number): void {
    if (!Number.isFinite(number)) {
      throw this.invalid(`is ${number}, which JSON does not have`);
    }
    if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
      throw this.invalid('is an integer beyond 2^53 - 1, no longer exact; send it as a string');
    }
    const text = JSON.stringify(number);
    const bytes = writtenOut(text);
    if (bytes > this.bytesMax) {
      throw this.invalid(
        `is a number of ${bytes} bytes when it is written out, as jsonb does, and larger than ` +
          `${this.bytesMax} bytes; send it as a string`,
      );
    }
    this.emit(text, bytes);
  }

  private container(value: object): void {
    if (this.ancestors.has(value)) throw this.invalid('is a cycle: it contains itself');
    if (this.ancestors.size === DEPTH_MAX) {
      throw this.invalid(`is nested deeper than ${DEPTH_MAX} levels`);
    }
    this.ancestors.add(value);
    if (isPlainArray(value)) this.array(value);
    else if (isPlainObject(value)) this.object(value);
    else throw this.invalid(notPlain(value));
    this.ancestors.delete(value);
  }

  private array(array: unknown[]): void {
    const { length } = array;
    if (length * ELEMENT_BYTES_MIN > this.bytesMax - this.bytes) throw this.tooLarge();
    this.emit('[');
    for (let index = 0; index < length; index++) {
      this.path.push(index);
      if (index > 0) this.emit(',', SEPARATOR_BYTES);
      if (!Object.hasOwn(array, index)) {
        throw this.invalid('is a hole in the array, which JSON turns into null');
      }
      this.value(array[index]);
      this.path.pop();
    }
    if (Reflect.ownKeys(array).length !== length + 1) {
      throw this.invalid('is an array with properties beside its elements, which JSON drops');
    }
    this.emit(']');
  }

  private object(object: object): void {
    this.emit('{');
    this.refuseCrowd(object);
    let separator = '';
    for (const key of Reflect.ownKeys(object)) {
      if (typeof key === 'symbol') {
        throw this.invalid('has a symbol as a key, which JSON drops; use a text');
      }
      this.path.push(key);
      if (key === '__proto__') {
        throw this.invalid('is a key that would change the prototype of its copy');
      }
      if (!Object.prototype.propertyIsEnumerable.call(object, key)) {
        throw this.invalid('is not enumerable, so JSON drops it');
      }
      if (separator !== '') this.emit(separator, SEPARATOR_BYTES);
      this.string(key, 'the key');
      this.emit(':', SEPARATOR_BYTES);
      this.value(Reflect.get(object, key));
      this.path.pop();
      separator = ',';
    }
    this.emit('}');
  }

  /**
   * Refuses early. For a million keys, `Reflect.ownKeys` takes three times as long as
   * `Object.keys`, the cheapest way in JavaScript to count them.
   */
  private refuseCrowd(object: object): void {
    if (Object.keys(object).length * MEMBER_BYTES_MIN > this.bytesMax - this.bytes) {
      throw this.tooLarge();
    }
  }

  private emit(piece: string, bytes: number = piece.length): void {
    this.bytes += bytes;
    if (this.bytes > this.bytesMax) throw this.tooLarge();
    this.text += piece;
  }

  private invalid(why: string): DelayInvalidError {
    return new DelayInvalidError(`payload${this.path.map(pathStep).join('')}`, why);
  }

  private tooLarge(): DelayInvalidError {
    return new DelayInvalidError(
      'payload',
      `is larger than ${this.bytesMax} bytes as JSON (as jsonb writes it, numbers without exponents); ` +
        'store the data in a table and send its id',
    );
  }
}

/** Length of a key in a path. */
const STEP_LENGTH_MAX = 40;

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** By shape, not identity: objects of `structuredClone` and `vm` have another realm's prototype. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  return (
    typeof prototype === 'object' &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'isPrototypeOf')
  );
}

/** Why a value is neither, and what to send instead. */
function notPlain(value: object): string {
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

/** One step of a path: `.orderId`, `["a b"]`, `[0]`. */
export function pathStep(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  if (step.length <= STEP_LENGTH_MAX && IDENTIFIER.test(step)) return `.${step}`;
  return `[${quoted(step, STEP_LENGTH_MAX)}]`;
}

/** Length of a number as `jsonb` writes it: 326 characters for `5e-324`. `e+` is refused before. */
function writtenOut(text: string): number {
  if (!text.includes('e-')) return text.length;
  const [mantissa = '', exponent = ''] = text.split('e-');
  const sign = mantissa.startsWith('-') ? 1 : 0;
  const digits = mantissa.replace(/\D/g, '').length;
  return sign + '0.'.length + Number(exponent) - 1 + digits;
}
