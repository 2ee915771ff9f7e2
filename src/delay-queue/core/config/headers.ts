import type { DelayHeaders } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { checkText } from './checks.js';
import { blamedOn, readable } from './refusals.js';
import { shown } from './shown.js';

export const HEADERS_MAX = 32;
export const HEADER_NAME_LENGTH_MAX = 100;
export const HEADER_BYTES_MAX = 4_096;

/**
 * Texts by name, like the headers of a request: at most 32, 4 KiB together.
 * @returns JSON text; null if there are none
 */
export const checkHeaders = (value: unknown, field = 'headers'): string | null =>
  readable(field, () => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new DelayInvalidError(field, `must be an object of texts, not ${shown(value)}`);
    }
    const entries = Object.entries(value);
    if (entries.length === 0) return null;
    if (entries.length > HEADERS_MAX) {
      throw new DelayInvalidError(field, `must be at most ${HEADERS_MAX}, not ${entries.length}`);
    }
    const headers = blamedOn(field, () =>
      entries.map(([name, text]) => {
        checkText(name, 'name', HEADER_NAME_LENGTH_MAX);
        return [name, text === '' ? '' : checkText(text, name, HEADER_BYTES_MAX)] as const;
      }),
    );
    const json = JSON.stringify(Object.fromEntries(headers));
    const bytes = Buffer.byteLength(json);
    if (bytes <= HEADER_BYTES_MAX) return json;
    throw new DelayInvalidError(field, `must take at most ${HEADER_BYTES_MAX} bytes, not ${bytes}`);
  });

/**
 * Adds headers to those of a caller. They are left out if the caller gave one of them, and the last
 * ones if there is no room.
 * @param given JSON text, as {@link checkHeaders} returns it
 */
export function withHeaders(given: string | null, added: DelayHeaders): string | null {
  const own = given === null ? {} : (JSON.parse(given) as DelayHeaders);
  const names = Object.keys(added);
  if (names.some((name) => Object.hasOwn(own, name))) return given;
  const all = Object.entries({ ...own, ...added });
  for (let count = all.length; count > all.length - names.length; count--) {
    const json = JSON.stringify(Object.fromEntries(all.slice(0, count)));
    if (count <= HEADERS_MAX && Buffer.byteLength(json) <= HEADER_BYTES_MAX) return json;
  }
  return given;
}
