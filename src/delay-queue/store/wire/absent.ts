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
