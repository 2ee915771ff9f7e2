import { adopted } from '../api/adopted.js';
import {
  DelayCodecError,
  DelayInvalidError,
  DelayPayloadError,
  type PayloadIssue,
} from '../api/errors.js';
import { LATE, within } from '../tasks/signal.js';
import { blamedOn, builtInKind, isOf, pathStep, readable, shown } from './known-options.js';
import { checkName } from './names.js';
import { encodePayload } from './storable-payload.js';

/** A codec or schema that does not answer holds its call no longer than this. */
const ANSWERS_WITHIN_MS = 30_000;

/**
 * @param answer result of a codec or schema, adopted
 * @param late makes the error after that time
 * @returns the same result
 */
export function inTime<Answer>(
  answer: Answer | Promise<Answer>,
  late: (why: string) => Error,
): Answer | Promise<Answer> {
  return answer instanceof Promise ? answeredInTime(answer, late) : answer;
}

async function answeredInTime<Answer>(
  answer: Promise<Answer>,
  late: (why: string) => Error,
): Promise<Answer> {
  const value = await within(answer, ANSWERS_WITHIN_MS, { ref: false });
  if (value !== LATE) return value;
  throw late(`did not answer within ${ANSWERS_WITHIN_MS} ms`);
}

/** Owner of a payload. A codec can authenticate both fields: they never change while it lives. */
export interface PayloadOwner {
  readonly name: string;
  readonly key: string | null;
}

/**
 * Lane payloads into stored text and back: encryption, compression.
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

/**
 * Schema of a payload: any [Standard Schema v1](https://standardschema.dev), as Zod, Valibot,
 * ArkType and others implement it. Only the part of the interface that is used here.
 */
export interface PayloadSchema<Parsed = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Parsed> | Promise<SchemaResult<Parsed>>;
  };
}

/** Result of a schema for a payload. */
export type SchemaResult<Parsed> =
  | { readonly value: Parsed; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** A mismatch and its path. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Further issues add nothing. */
const ISSUES_MAX = 20;
const MESSAGE_LENGTH_MAX = 200;
/** Payloads are nested at most 64 levels. */
const STEPS_MAX = 100;

/** @throws DelayInvalidError */
function checkSchemaOption(value: unknown, field: string): PayloadSchema {
  if (readable(field, () => isSchema(value))) return value as PayloadSchema;
  throw new DelayInvalidError(
    field,
    `must be a schema of Standard Schema v1, as Zod, Valibot or ArkType make them, not ${shown(value)}`,
  );
}

/** Some libraries use functions. */
function isSchema(value: unknown): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard: unknown = Reflect.get(value, '~standard');
  if (typeof standard !== 'object' || standard === null) return false;
  return (
    Reflect.get(standard, 'version') === 1 &&
    typeof Reflect.get(standard, 'validate') === 'function'
  );
}

/** Result of a schema, wrapped: nothing may take the value itself for a promise. */
interface ParsedValue {
  readonly value: unknown;
}

/**
 * @returns a promise only if the schema returns one
 * @throws DelayPayloadError; DelayInvalidError for an invalid result; and what the schema throws
 */
function parsedBy(schema: PayloadSchema, value: unknown): ParsedValue | Promise<ParsedValue> {
  const answer: unknown = schema['~standard'].validate(value);
  const result = inTime(
    readPart(() => adopted(answer)),
    late,
  );
  return result instanceof Promise ? result.then(parsedOf) : parsedOf(result);
}

function parsedOf(result: unknown): ParsedValue {
  if (typeof result !== 'object' || result === null) {
    throw new DelayInvalidError('payload', `its schema gave no result, but ${shown(result)}`);
  }
  const issues: unknown = readPart(() => Reflect.get(result, 'issues'));
  if (issues === undefined) return { value: readPart(() => Reflect.get(result, 'value')) };
  throw new DelayPayloadError(issuesOf(issues));
}

/** @throws DelayInvalidError: the result is unreadable, not the payload */
function readPart<Part>(part: () => Part): Part {
  try {
    return part();
  } catch {
    throw new DelayInvalidError('payload', 'its schema gave a result that cannot be read');
  }
}

const late = (why: string): Error => new DelayInvalidError('payload', `its schema ${why}`);

/** Any issue, even an unreadable one, means that the payload does not match. */
function issuesOf(issues: unknown): PayloadIssue[] {
  const found: PayloadIssue[] = [];
  try {
    const { length } = issues as readonly SchemaIssue[];
    for (let index = 0; index < length && index < ISSUES_MAX; index++) {
      found.push(issueOf((issues as readonly SchemaIssue[])[index]));
    }
  } catch {
    // The issues read so far are enough.
  }
  return found.length > 0 ? found : [UNREADABLE_ISSUE];
}

const UNREADABLE_ISSUE: PayloadIssue = {
  path: 'payload',
  message: 'does not match its schema, which gives no reason',
};

function issueOf(issue: SchemaIssue | undefined): PayloadIssue {
  try {
    const { path = [], message } = issue as SchemaIssue;
    const steps = Array.from({ length: Math.min(path.length, STEPS_MAX) }, (_, index) => {
      const step = path[index] as PropertyKey | { readonly key: PropertyKey };
      return pathStep(stepOf(typeof step === 'object' ? step.key : step));
    });
    return { path: `payload${steps.join('')}`, message: textOf(message) };
  } catch {
    return UNREADABLE_ISSUE;
  }
}

const stepOf = (key: PropertyKey): string | number => (typeof key === 'number' ? key : String(key));

const textOf = (message: unknown): string => {
  const text = String(message);
  return text.length > MESSAGE_LENGTH_MAX ? `${text.slice(0, MESSAGE_LENGTH_MAX)}…` : text;
};

/** The same refusal for a caller of `schedule`, where nothing was written. */
function asRefusal(error: unknown): unknown {
  if (!isOf(error, DelayPayloadError)) return error;
  const [first, ...others] = error.issues;
  if (first === undefined) return new DelayInvalidError('payload', 'does not match its schema');
  const more = others.map(({ path, message }) => `; ${path}: ${message}`).join('');
  return new DelayInvalidError(first.path, first.message + more);
}

/** Limit before encoding: the codec may shrink it. */
const PLAIN_BYTES_MAX = 1_048_576;

/** Reads the payload of an attempt. */
export type PayloadReader = (text: string, owner: PayloadOwner) => unknown;

/** Lane this application's payloads into stored text, and back. */
export class Payloads {
  readonly #schemas = new Map<string, PayloadSchema>();

  /** @param bytesMax of the stored text */
  constructor(
    private readonly bytesMax: number,
    private readonly codec?: PayloadCodec,
  ) {}

  /** @throws DelayInvalidError naming the option */
  expectAll(schemas: unknown): void {
    for (const [name, schema] of readable('payloads', () => entriesOf(schemas))) {
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

function entriesOf(schemas: unknown): [name: string, schema: unknown][] {
  const isObject = typeof schemas === 'object' && schemas !== null && !Array.isArray(schemas);
  if (isObject && builtInKind(schemas) === undefined) return Object.entries(schemas);
  throw new DelayInvalidError('payloads', `must be an object of schemas, not ${shown(schemas)}`);
}
