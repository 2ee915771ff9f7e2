/*
 * Arrays as Postgres reads them. `pg` writes them too, and quotes each number and searches each text
 * twice: a tenth of all the work of a claim, and a thirtieth of that of a `schedule`.
 *
 * No array holds NULL: where a role has `array_nulls = off`, Postgres reads it as the text "NULL". What is
 * missing travels as a value that cannot occur otherwise: see `absent.ts`.
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
