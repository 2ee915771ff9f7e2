import { quoted } from '../delay/printable.js';
import { DelayInvalidError } from '../delay/delay.errors.js';
import { isUntranslatable } from '../store/sql-state.js';
import type { NewDelay } from '../store/wire/delay-rows.js';

/** Texts of a call by the fields that they stand in. */
type Fields = Readonly<Record<string, string | null | undefined>>;

/**
 * Waits for what a call asks of Postgres. A character that the database's encoding does not have is an argument that is
 * refused: the error names the field.
 *
 * @throws DelayInvalidError
 */
export async function translatable<Result>(
  work: Promise<Result>,
  fields: () => Fields,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw withField(error, fields);
  }
}

/** The error itself, or the refusal that it means. For calls that many make: these await once. */
export const withField = (error: unknown, fields: () => Fields): unknown =>
  isUntranslatable(error) ? refusalOf(error as Error, fields()) : error;

export const fieldsOf = ({ key, group, headers, payload }: NewDelay): Fields => ({
  key,
  group,
  headers,
  payload,
});

/** Those of a list, each with its place. */
export function fieldsOfAll<Item>(
  list: string,
  items: readonly Item[],
  of: (item: Item) => Fields,
): Fields {
  const all: Record<string, string | null | undefined> = {};
  for (const [index, item] of items.entries()) {
    for (const [field, text] of Object.entries(of(item))) all[`${list}[${index}].${field}`] = text;
  }
  return all;
}

const NOT_ASCII = /[\u{80}-\u{10ffff}]/u;

/** Postgres names the character by its bytes, in any language. */
const BYTES = /0x[0-9a-f]{2}(?: 0x[0-9a-f]{2})*/i;

function refusalOf({ message }: Error, fields: Fields): DelayInvalidError {
  const hex = BYTES.exec(message)?.[0].replaceAll(/0x| /gi, '') ?? '';
  const char = Buffer.from(hex, 'hex').toString();
  const has = (text: string): boolean => (char === '' ? NOT_ASCII.test(text) : text.includes(char));
  const [field = 'payload'] = Object.entries(fields).find(([, text]) => text && has(text)) ?? [];
  const which = char === '' ? 'a character' : quoted(char);
  return new DelayInvalidError(
    field,
    `holds ${which}, which the encoding of this database does not have; a database of encoding UTF8 has all`,
  );
}
