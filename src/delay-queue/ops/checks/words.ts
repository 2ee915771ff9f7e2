/** What people type. */
export const PROGRAM = 'nestjs-delay-queue';

/** `12,345`, whatever the language of the machine. */
export const grouped = (number: number): string => number.toLocaleString('en-US');

/** `1 delay`, `2 delays`. */
export const countText = (count: number, thing = 'delay'): string =>
  `${grouped(count)} ${thing}${count === 1 ? '' : 's'}`;

/** As a shell reads it: a name may hold anything. */
export const shellWord = (text: string): string =>
  /^[\w.:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A call that reads the same whatever the path of the session that a person pastes it into. */
export const callSql = (name: string, argument = ''): string =>
  `SELECT pg_catalog.${name}(${argument})`;

export const sqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`;
