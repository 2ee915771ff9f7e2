import { adopted } from '../api/adopted.js';
import { DelayCodecError, DelayInvalidError } from '../api/errors.js';
import {
  blamedOn,
  isOf,
  isPlainArray,
  isPlainObject,
  isRefusal,
  notPlain,
  optionsByName,
  pathStep,
  readable,
  shown,
  UNREADABLE,
  writtenOut,
} from './known-options.js';
import {
  asRefusal,
  checkSchemaOption,
  inTime,
  jsonSchemaOf,
  parsedBy,
  type PayloadSchema,
} from './payload-schemas.js';
import { checkName, LONE_SURROGATE } from './schedule-options.js';

/** Owner of a payload. A codec can authenticate both fields: they never change while it lives. */
export interface PayloadOwner {
  readonly name: string;
  readonly key: string | null;
}

/**
 * Turns payloads into stored text and back: encryption, compression.
 *
 * `decode` must read everything that `encode` ever wrote, also under older keys. Payloads stored
 * without a codec are read as they are, unless `strict`.
 */
export interface PayloadCodec {
  /** @param json the payload. @returns any text that Postgres can store */
  encode(json: string, owner: PayloadOwner): string | Promise<string>;
  /** @param encoded result of `encode`. @returns the same JSON */
  decode(encoded: string, owner: PayloadOwner): string | Promise<string>;
  /**
   * `true`: refuses payloads stored without the codec (`DELAY_CODEC`), so that a role that may
   * write rows cannot pass off its text as encrypted. Set it when none from before the codec is
   * left.
   * @default `false`: reads them as they are
   */
  readonly strict?: boolean;
}

/** An encoded payload is stored as an object with only this key. */
const MARK = 'delay-queue:encoded';
/** As sent, and as `jsonb` writes it. */
const SENT = `{"${MARK}":`;
const READ = `{"${MARK}": `;

/** @throws DelayInvalidError for a payload that looks like an encoded one */
export function refuseMark(json: string): void {
  if (!json.startsWith(SENT)) return;
  throw new DelayInvalidError(
    `payload["${MARK}"]`,
    'is reserved for encoded payloads; use another key',
  );
}

/**
 * @returns what is stored; a promise only if the codec returns one
 * @throws DelayCodecError; DelayInvalidError if the encoded payload exceeds `bytesMax`
 */
export function encoded(
  codec: PayloadCodec,
  json: string,
  owner: PayloadOwner,
  bytesMax: number,
): string | Promise<string> {
  const failed = (error: unknown): never => {
    throw new DelayCodecError(
      `the codec cannot encode a payload of ${owner.name}; nothing was written`,
      error,
    );
  };
  const wrapped = (text: unknown): string => {
    if (typeof text === 'string') return encodePayload({ [MARK]: text }, bytesMax);
    return failed(new TypeError(`encode must return a text, not ${shown(text)}`));
  };
  const text = attempted(
    () => inTime(adopted(codec.encode(json, ownerOf(owner))), lateCodec),
    failed,
  );
  return text instanceof Promise ? text.then(wrapped, failed) : wrapped(text);
}

/**
 * @param text as `jsonb` writes it
 * @returns the payload; a promise only if the codec returns one
 * @throws DelayCodecError
 */
export function decoded(
  codec: PayloadCodec | undefined,
  text: string,
  owner: PayloadOwner,
): unknown {
  const inside = encodedIn(text);
  if (inside === undefined) {
    if (codec?.strict !== true) return JSON.parse(text);
    throw new DelayCodecError(
      `a payload of ${owner.name} was stored without the codec, which is strict; to read payloads from before the ` +
        'codec, leave out `strict`',
    );
  }
  if (codec === undefined) {
    throw new DelayCodecError(`a payload of ${owner.name} is encoded, and this node has no codec`);
  }
  const failed = (error: unknown): never => {
    throw new DelayCodecError(`the codec cannot decode a payload of ${owner.name}`, error);
  };
  const parsed = (json: unknown): unknown =>
    attempted(() => {
      if (typeof json === 'string') return JSON.parse(json) as unknown;
      throw new TypeError(`decode must return a text, not ${shown(json)}`);
    }, failed);
  const json = attempted(
    () => inTime(adopted(codec.decode(inside, ownerOf(owner))), lateCodec),
    failed,
  );
  return json instanceof Promise ? json.then(parsed, failed) : parsed(json);
}

/** A row older than the codec may have that key among others. */
function encodedIn(text: string): string | undefined {
  if (!text.startsWith(READ)) return undefined;
  const stored = JSON.parse(text) as Record<string, unknown>;
  const inside = stored[MARK];
  return typeof inside === 'string' && Object.keys(stored).length === 1 ? inside : undefined;
}

const lateCodec = (why: string): Error => new Error(`it ${why}`);

const ownerOf = ({ name, key }: PayloadOwner): PayloadOwner => ({ name, key });

function attempted<T>(work: () => T, failed: (error: unknown) => never): T {
  try {
    return work();
  } catch (error) {
    return failed(error);
  }
}

/** @throws DelayInvalidError */
export function checkCodec(value: unknown): PayloadCodec | undefined {
  if (value === undefined) return undefined;
  if (readable('codec', () => isCodec(value))) {
    const { strict } = value as { strict?: unknown };
    if (strict === undefined || typeof strict === 'boolean') return value as PayloadCodec;
    throw new DelayInvalidError('codec.strict', `must be true or false, not ${shown(strict)}`);
  }
  throw new DelayInvalidError(
    'codec',
    `must be an object with the methods encode and decode, not ${shown(value)}`,
  );
}

const isCodec = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ['encode', 'decode'].every((method) => typeof Reflect.get(value, method) === 'function');

/** Limit before encoding: the codec may shrink it. */
const PLAIN_BYTES_MAX = 1_048_576;

/** Reads the payload of an attempt. */
export type PayloadReader = (text: string, owner: PayloadOwner) => unknown;

/** Turns this application's payloads into stored text, and back. */
export class Payloads {
  readonly #schemas = new Map<string, PayloadSchema>();

  /** @param bytesMax of the stored text */
  constructor(
    private readonly bytesMax: number,
    private readonly codec?: PayloadCodec,
  ) {}

  /** @throws DelayInvalidError naming the option */
  expectAll(schemas: unknown): void {
    for (const [name, schema] of optionsByName(schemas, 'payloads')) {
      blamedOn('payloads', () => this.expect(checkName(name), schema, name));
    }
  }

  /**
   * Sets the schema for payloads of that name.
   * @param field of the option, for the message
   * @throws DelayInvalidError for an invalid schema, and for a second one
   */
  expect(name: string, schema: unknown, field: string): void {
    const checked = checkSchemaOption(schema, field);
    const other = this.#schemas.get(name) ?? checked;
    if (other !== checked) {
      throw new DelayInvalidError(field, `${name} has another schema in the module's payloads`);
    }
    this.#schemas.set(name, checked);
  }

  /** JSON Schema of what `schedule` takes for that name, if its schema can say it. */
  jsonSchemaOf(name: string): object | undefined {
    const schema = this.#schemas.get(name);
    return schema && jsonSchemaOf(schema);
  }

  /** @throws DelayInvalidError with the path of a value that JSON cannot hold */
  jsonOf(payload: unknown): string {
    const { codec, bytesMax } = this;
    const json = encodePayload(payload, codec === undefined ? bytesMax : PLAIN_BYTES_MAX);
    refuseMark(json);
    return json;
  }

  /**
   * Checks a payload against its schema, as the handler will read it. The result is not stored: the
   * schema transforms the payload once, when the delay runs.
   * @returns what is stored; a promise only if the schema or the codec returns one
   * @throws DelayInvalidError with the path of the mismatch; DelayCodecError; and schema errors
   */
  stored(json: string, owner: PayloadOwner): string | Promise<string> {
    const schema = this.#schemas.get(owner.name);
    if (schema === undefined) return this.#encoded(json, owner);
    try {
      const parsed = parsedBy(schema, JSON.parse(json));
      if (!(parsed instanceof Promise)) return this.#encoded(json, owner);
      return parsed.then(
        () => this.#encoded(json, owner),
        (error: unknown) => {
          throw asRefusal(error);
        },
      );
    } catch (error) {
      throw asRefusal(error);
    }
  }

  /**
   * The payload of a row, as its producer gave it; a promise only if the codec returns one.
   * @throws DelayCodecError
   */
  given(text: string, owner: PayloadOwner): unknown {
    return decoded(this.codec, text, owner);
  }

  /**
   * The same as JSON. What was stored without a codec is the database's text: its numbers may have
   * any size.
   * @throws DelayCodecError
   */
  async jsonOfRow(text: string, owner: PayloadOwner): Promise<string> {
    const value = await this.given(text, owner);
    return encodedIn(text) === undefined ? text : JSON.stringify(value);
  }

  /** Reads what handlers of that name receive; undefined if that is the stored payload. */
  readerOf(name: string): PayloadReader | undefined {
    const { codec } = this;
    const schema = this.#schemas.get(name);
    if (schema === undefined) {
      return codec && ((text, owner) => decoded(codec, text, owner));
    }
    return async (text, owner) => {
      const { value } = await parsedBy(schema, await decoded(codec, text, owner));
      return await adopted(value);
    };
  }

  /** The same for `@OnDeadDelay`: a payload that its schema refuses is passed as given. */
  lenientReaderOf(name: string): PayloadReader | undefined {
    const read = this.readerOf(name);
    if (read === undefined) return undefined;
    return async (text, owner) => {
      try {
        return await read(text, owner);
      } catch (error) {
        if (isOf(error, DelayCodecError)) throw error;
        return this.given(text, owner);
      }
    };
  }

  #encoded(json: string, owner: PayloadOwner): string | Promise<string> {
    return this.codec === undefined ? json : encoded(this.codec, json, owner, this.bytesMax);
  }
}

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
    const quoted = JSON.stringify(text);
    this.emit(quoted, Buffer.byteLength(quoted));
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
