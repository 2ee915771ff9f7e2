import { nextEpoch } from '../../../database/tables.js';

/** Condition: an attempt holds the row, though its lease may have ended. */
export const isLeased = (row: string): string => `${row}.leased_by IS NOT NULL`;

/** What an UPDATE sets for a row that no attempt holds any more. */
export const RELEASED = 'leased_until = NULL, leased_by = NULL';

/** What it sets where the attempts of row `d` begin anew; its last error and its log may stay. */
export const ATTEMPTS_ANEW = `epoch = ${nextEpoch('d')}, attempts = 0, ${RELEASED}, refused_by = NULL`;

/** The same, without anything that is known of earlier attempts and moves. */
export const BEGINS_ANEW = `${ATTEMPTS_ANEW}, last_error = NULL, attempt_log = NULL, move_log = NULL`;

/** Columns of row `d` that its line of history needs, beside those of `historyExtras`. */
export const ROW_THAT_ENDS = `d.id, d.epoch, d.due_at, d.created_at, d.attempts, d.name, d.key, d.leased_by, d.last_error,
           d.wake_at = 'infinity' AS dead`;

/** SQL for the state of delay `d` at that instant. */
export const stateAt = (now: string): string => `CASE WHEN d.wake_at = 'infinity' THEN 'dead'
            WHEN d.leased_until > ${now} THEN 'running'
            WHEN d.attempts > 0 THEN 'retrying'
            ELSE 'scheduled' END`;

/** SQL for the first line of an error, at most 200 characters; '': none. */
export const firstLine = (error: string): string =>
  `COALESCE(pg_catalog.left(pg_catalog.split_part(${error}, pg_catalog.chr(10), 1), 200), '')`;

const NUMBERED = '[A-Za-z0-9_#]*[0-9#][A-Za-z0-9_#]*';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const MONTH =
  '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:uary|ruary|ch|il|e|y|ust|tember|ober|ember)?';

/**
 * What differs between errors of one kind, each replaced in what the one before has left: one
 * pattern for all takes 50 times as long. Without a backslash, which a session may read as an escape.
 */
const VOLATILE = [
  // user@host
  '[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]*[A-Za-z0-9]',
  // A UUID; a hexadecimal number
  '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}',
  '[[:<:]][0-9a-fA-F]{8,}[[:>:]]',
  // A number, an id, an address or a time: words with a digit, joined or not
  `${NUMBERED}(?:[-.:/+,]+${NUMBERED})*`,
  `(?:${DAY},? )?(?:# )?${MONTH},? #`,
];

/** SQL for the first line of an error with `#` for what may differ in it, at most 200 characters; '': none. */
export const errorKind = (error: string): string => {
  const line = `pg_catalog.left(pg_catalog.split_part(${error}, pg_catalog.chr(10), 1), 300)`;
  const kind = VOLATILE.reduce(
    (text, part) => `pg_catalog.regexp_replace(${text}, '${part}', '#', 'g')`,
    line,
  );
  return `COALESCE(pg_catalog.left(${kind}, 200), '')`;
};
