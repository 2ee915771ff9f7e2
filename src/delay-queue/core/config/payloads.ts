import { adopted } from '../api/adopted.js';
import { DelayCodecError, DelayInvalidError } from '../api/errors.js';
import type { PayloadCodec, PayloadOwner, PayloadSchema } from '../api/options.js';
import { optionsByName } from './known-options.js';
import { blamedOn, isInstance } from './refusals.js';
import { refuseMark, decoded, encodedIn, encoded } from './payload-codec.js';
import { encodePayload } from './payload-encoder.js';
import { asRefusal, checkSchemaOption, jsonSchemaOf, parsedBy } from './payload-schemas.js';
import { checkName } from './checks.js';

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
        if (isInstance(error, DelayCodecError)) throw error;
        return this.given(text, owner);
      }
    };
  }

  #encoded(json: string, owner: PayloadOwner): string | Promise<string> {
    return this.codec === undefined ? json : encoded(this.codec, json, owner, this.bytesMax);
  }
}
