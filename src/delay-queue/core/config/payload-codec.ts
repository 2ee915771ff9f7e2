import { adopted } from '../api/adopted.js';
import { DelayInvalidError, DelayCodecError } from '../api/errors.js';
import { shown, readable } from './known-options.js';
import { encodePayload } from './payload-encoder.js';
import { inTime } from './payload-schemas.js';

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
export function encodedIn(text: string): string | undefined {
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
