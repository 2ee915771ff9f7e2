import { wholeEpochMs } from '../../../database/tables.js';

/* Besides the rule, the column holds its end, what the due time was computed from, and `declared`. */

/** The repeat of a delay whose first instant is `due`: `every` counts from there. */
export const repeatFrom = (repeat: string, due: string): string =>
  `CASE WHEN ${repeat} -> 'every'::text IS NULL THEN ${repeat}
             ELSE ${repeat} || pg_catalog.jsonb_build_object('from', ${wholeEpochMs(due)}) END`;

/** The rule as given. */
export const asSaid = (repeat: string): string =>
  `(${repeat} - '{from,offset,tz,ran,until,limit}'::text[])`;

/** The repeat of a delay whose rule stays: it counts on, to the end that the call gives. */
export const goingOn = (old: string, given: string): string =>
  `(${old} - '{until,limit}'::text[] || ${given})`;

export const isDeclared = (repeat: string): string => `${repeat} -> 'declared'::text IS NOT NULL`;

/**
 * Condition: the call's rule equals the row's, without a first run: the row keeps its instants.
 */
export const goesOnAsItDid = (repeat: string, extras: string): string =>
  `(${repeat} IS NOT NULL AND ${asSaid(repeat)} = ${asSaid(`(${extras}::jsonb -> 'repeat'::text)`)} AND NOT (${extras}::jsonb ->> 'first'::text)::bool) IS TRUE`;
