import { adopted } from '../delay/adopted.js';
import { DelayInvalidError } from '../delay/delay.errors.js';
import { encodePayload } from '../validation/payload.js';
import { checkName } from '../validation/names.js';
import { isOf, readable, within } from '../validation/blame.js';
import { builtInKind, shown } from '../validation/shown.js';
import {
  decoded,
  encoded,
  type PayloadCodec,
  type PayloadOwner,
  refuseMark,
} from './payload-codec.js';
import { DelayCodecError } from './payload.errors.js';
import type { PayloadSchema } from './payload-schema.js';
import { asRefusal, checkSchemaOption, parsedBy } from './schema-check.js';

/** Of a payload that is encoded: it may shrink. */
const PLAIN_BYTES_MAX = 1_048_576;

/** Reads the payload of an attempt. */
export type PayloadReader = (text: string, owner: PayloadOwner) => unknown;

/** How the payloads of this application become what is stored, and what is stored becomes payloads. */
export class Payloads {
  readonly #schemas = new Map<string, PayloadSchema>();

  /** @param bytesMax of what is stored */
  constructor(
    private readonly bytesMax: number,
    private readonly codec?: PayloadCodec,
  ) {}

  /** @throws DelayInvalidError naming the option */
  expectAll(schemas: unknown): void {
    for (const [name, schema] of readable('payloads', () => entriesOf(schemas))) {
      within('payloads', () => this.expect(checkName(name), schema, name));
    }
  }

  /**
   * Payloads of that name have to fit into that schema.
   *
   * @param field of the option, for the message
   * @throws DelayInvalidError for what is no schema, and for a second one
   */
  expect(name: string, schema: unknown, field: string): void {
    const checked = checkSchemaOption(schema, field);
    const other = this.#schemas.get(name) ?? checked;
    if (other !== checked) {
      throw new DelayInvalidError(field, `${name} has another schema in the module's payloads`);
    }
    this.#schemas.set(name, checked);
  }

  /** @throws DelayInvalidError with the path of what JSON cannot hold */
  jsonOf(payload: unknown): string {
    const { codec, bytesMax } = this;
    const json = encodePayload(payload, codec === undefined ? bytesMax : PLAIN_BYTES_MAX);
    refuseMark(json);
    return json;
  }

  /**
   * Checks the payload by its schema, as the handler will read it. What the schema makes of it is not stored: it is made
   * when the delay runs, and once.
   *
   * @returns what is stored; a promise only if the schema or the codec answers one
   * @throws DelayInvalidError with the path of what does not fit; DelayCodecError; and what the schema throws
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
   * The payload of a row, as its producer gave it; a promise only if the codec answers one.
   * @throws DelayCodecError
   */
  given(text: string, owner: PayloadOwner): unknown {
    return decoded(this.codec, text, owner);
  }

  /** Reads what handlers of that name get; undefined when that is what is stored. */
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

  /** The same for `@OnDeadDelay`: what its schema does not take comes as it was given. */
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
