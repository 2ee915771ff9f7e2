/** How bad it is: `problem` ends `doctor` with exit code 1. */
export type Level = 'ok' | 'notice' | 'problem';

/** One thing that `doctor` has looked at. */
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

type Advice = Partial<Pick<Finding, 'means' | 'todo' | 'sql'>>;

const of =
  (level: Level) =>
  (check: string, found: string, { means, todo, sql }: Advice = {}): Finding => ({
    level,
    check,
    found,
    means: means ?? null,
    todo: todo ?? null,
    sql: sql ?? null,
  });

export const ok = of('ok');
export const notice = of('notice');
export const problem = of('problem');
