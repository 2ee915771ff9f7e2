import { DelayConfigError } from '../../api/errors.js';

/** How bad it is: `problem` ends `doctor` with exit code 1. */
export type Level = 'ok' | 'notice' | 'problem';

/** What one check of the database or of the server has found. */
export interface Finding {
  level: Level;
  /** A fixed word, for scripts: `autovacuum`, `drift`. */
  check: string;
  /** What was found, in one sentence. */
  found: string;
  /** What it means. */
  means: string | null;
  /** What to do. */
  todo: string | null;
  /** The statement for it, where there is one. */
  sql: string | null;
}

type Advice = { [Part in 'means' | 'todo' | 'sql']?: Finding[Part] | undefined };

const finding =
  (level: Level) =>
  (check: string, found: string, { means, todo, sql }: Advice = {}): Finding => ({
    level,
    check,
    found,
    means: means ?? null,
    todo: todo ?? null,
    sql: sql ?? null,
  });

export const ok = finding('ok');
export const notice = finding('notice');
export const problem = finding('problem');

/** An entry of the catalogue of checks: what is wrong in a reading, what it means, and the remedy. */
export interface Check<Reading> {
  id: string;
  /** Default: `problem`. */
  level?: Exclude<Level, 'ok'>;
  isWrong: (reading: Reading) => boolean;
  found: (reading: Reading) => string;
  means?: string;
  todo?: string;
  sql?: (reading: Reading) => string | undefined;
}

/** What is wrong, in the order of the checks. */
export const judge = <Reading>(checks: readonly Check<Reading>[], reading: Reading): Finding[] =>
  checks
    .filter(({ isWrong }) => isWrong(reading))
    .map(({ id, level = 'problem', found, sql, ...advice }) =>
      finding(level)(id, found(reading), { ...advice, sql: sql?.(reading) }),
    );

/** One text of it, for the error or the advice of a start. */
export const refusal = ({ found, means, todo, sql }: Finding): DelayConfigError =>
  new DelayConfigError(
    [means === null && todo === null ? found : `${found}.`, means, todo, sql]
      .filter((part) => part !== null)
      .join(' '),
  );
