import { DelayInvalidError } from '../delay/delay.errors.js';
import { readable, within } from './blame.js';
import { checkText } from './names.js';
import { shown } from './shown.js';

const HEADERS_MAX = 32;
const NAME_LENGTH_MAX = 100;
const BYTES_MAX = 4_096;

/**
 * Texts by name, as the headers of a request: at most 32, and 4 KiB together.
 * @returns JSON text; null when there are none
 */
export function checkHeaders(value: unknown): string | null {
  return readable('headers', () => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new DelayInvalidError('headers', `must be an object of texts, not ${shown(value)}`);
    }
    const entries = Object.entries(value);
    if (entries.length === 0) return null;
    if (entries.length > HEADERS_MAX) {
      throw new DelayInvalidError(
        'headers',
        `must be at most ${HEADERS_MAX}, not ${entries.length}`,
      );
    }
    const headers = within('headers', () =>
      entries.map(([name, text]) => {
        checkText(name, 'name', NAME_LENGTH_MAX);
        return [name, text === '' ? '' : checkText(text, name, BYTES_MAX)] as const;
      }),
    );
    const json = JSON.stringify(Object.fromEntries(headers));
    const bytes = Buffer.byteLength(json);
    if (bytes <= BYTES_MAX) return json;
    throw new DelayInvalidError('headers', `must take at most ${BYTES_MAX} bytes, not ${bytes}`);
  });
}
