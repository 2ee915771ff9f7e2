import { wholeEpochMs } from '../../tables/schema.js';

/*
 * How a row recurs. Beside what was said of it, its column holds `from` (of `every`: the first instant) and `declared` (the
 * code of a node says so).
 */

/** That of a delay whose first instant is `due`: `every` counts from there. */
export const repeatFrom = (repeat: string, due: string): string =>
  `CASE WHEN ${repeat} -> 'every'::text IS NULL THEN ${repeat}
             ELSE ${repeat} || pg_catalog.jsonb_build_object('from', ${wholeEpochMs(due)}) END`;

/** Without what was found out since it was said. */
export const asSaid = (repeat: string): string => `(${repeat} - 'from'::text)`;

export const isDeclared = (repeat: string): string => `${repeat} -> 'declared'::text IS NOT NULL`;

/**
 * What a call says of it, in the JSON text `extras`: it recurs in that way already, and the call does not say when it runs
 * next. Then it goes on with its instants.
 */
export const goesOnAsItDid = (repeat: string, extras: string): string =>
  `(${repeat} IS NOT NULL AND ${asSaid(repeat)} = ${extras}::jsonb -> 'repeat'::text AND NOT (${extras}::jsonb ->> 'first'::text)::bool) IS TRUE`;
