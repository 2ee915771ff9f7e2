/*
 * Arrays as Postgres reads them. `pg` writes them too, and quotes each number and searches each text
 * twice: a tenth of all the work of a claim, and a thirtieth of that of a `schedule`.
 *
 * No array holds NULL: where a role has `array_nulls = off`, Postgres reads it as the text "NULL". What is
 * missing travels as a value that cannot occur otherwise, and the SQL makes NULL of it: see below.
 */

/** `{1,2,NaN}` */
export const numbers = (values: readonly number[]): string => `{${values.join()}}`;

/** `{true,false}` */
export const flags = (values: readonly boolean[]): string => `{${values.join()}}`;

const SPECIAL = /["\\]/;
const EACH_SPECIAL = /["\\]/g;

/** `{"a","say \"b\""}` */
export const texts = (values: readonly string[]): string => `{${values.map(quoted).join()}}`;

const quoted = (text: string): string =>
  `"${SPECIAL.test(text) ? text.replace(EACH_SPECIAL, '\\$&') : text}"`;

/*
 * What stands in an array for a value that is not there, and the SQL that makes NULL of it. No name, key or
 * instant that a caller may give is one of these.
 */

export const NO_KEY = '';
export const keyOrNull = (column: string): string => `NULLIF(${column}, '')`;

export const NO_MS = Number.NaN;
export const msOrNull = (column: string): string => `NULLIF(${column}, 'NaN')`;

export const NO_INSTANT = '-infinity';
export const instantOrNull = (column: string): string => `NULLIF(${column}, '-infinity')`;

export const NO_MAXIMUM = 0;
export const maximumOrNull = (column: string): string => `NULLIF(${column}, 0)`;

/** A claim that a statement asks for or proves. */
export interface Fence {
  id: number;
  epoch: number;
}

export const fencesOf = (items: readonly Fence[]): [ids: string, epochs: string] => [
  numbers(items.map((item) => item.id)),
  numbers(items.map((item) => item.epoch)),
];
