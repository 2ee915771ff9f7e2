import { adopted } from '../api/adopted.js';
import { DelayInvalidError, DelayCodecError } from '../api/errors.js';
import type { PayloadCodec, PayloadOwner } from '../api/options.js';
import { flag, type ValueCheck } from './checks.js';
import { encodePayload } from './payload-encoder.js';
import { inTime } from './payload-schemas.js';
import { readable } from './refusals.js';
import { shown } from './shown.js';

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
    () => inTime(adopted(codec.encode(json, onlyOwner(owner))), lateCodec),
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
    () => inTime(adopted(codec.decode(inside, onlyOwner(owner))), lateCodec),
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

const onlyOwner = ({ name, key }: PayloadOwner): PayloadOwner => ({ name, key });

function attempted<T>(work: () => T, failed: (error: unknown) => never): T {
  try {
    return work();
  } catch (error) {
    return failed(error);
  }
}

export const checkCodec: ValueCheck<PayloadCodec> = (value, field) => {
  if (readable(field, () => isCodec(value))) {
    const { strict = false } = value as { strict?: unknown };
    flag(strict, `${field}.strict`);
    return value as PayloadCodec;
  }
  throw new DelayInvalidError(
    field,
    `must be an object with the methods encode and decode, not ${shown(value)}`,
  );
};

const isCodec = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ['encode', 'decode'].every((method) => typeof Reflect.get(value, method) === 'function');
