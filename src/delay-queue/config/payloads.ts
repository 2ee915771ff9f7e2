import { adopted } from '../api/adopted.js';
import {
  DelayCodecError,
  DelayInvalidError,
  DelayPayloadError,
  type PayloadIssue,
} from '../api/errors.js';
import { blamedOn, builtInKind, isOf, readable, shown } from './blame.js';
import { pathStep } from './known-options.js';
import { checkName } from './names.js';
import {
  decoded,
  encoded,
  inTime,
  type PayloadCodec,
  type PayloadOwner,
  refuseMark,
} from './payload-codec.js';
import { encodePayload } from './storable-payload.js';

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
