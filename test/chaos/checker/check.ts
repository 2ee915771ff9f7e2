import type { Sql } from '../record/sql.js';
import { figuresOf, type Figures } from './figures.js';
import type { Check, Invariant } from './invariant.js';
import { ALL } from './invariants/index.js';
import { DERIVED } from './steps.js';
import { storyOf } from './story.js';

export type { Figures } from './figures.js';

/** What one invariant came to. */
export interface Verdict {
  invariant: number;
  title: string;
  /** Things looked at. */
  checked: number;
  violations: number;
  /** The first violations in words, with what happened to the row. */
  examples: string[];
}

export interface CheckedRun {
  /** Delays that were due until then are those without faults. */
  calmUntil: Date;
  /** Attempts of a delay that was scheduled without a number of its own. */
  maxAttempts: number;
}

/** Told per check; the count says how many there are. */
const EXAMPLES_MAX = 10;

/** Judges a run by its record: producers have stopped, the system has gone quiet, nobody is left. */
export async function check(
  sql: Sql,
  run: CheckedRun,
): Promise<{ verdicts: Verdict[]; figures: Figures }> {
  for (const statement of DERIVED) await sql(statement);
  const verdicts: Verdict[] = [];
  for (const invariant of ALL) verdicts.push(await judge(sql, invariant, run));
  return { verdicts, figures: await figuresOf(sql, run.calmUntil) };
}

async function judge(
  sql: Sql,
  { number, title, checks }: Invariant,
  run: CheckedRun,
): Promise<Verdict> {
  const verdict: Verdict = { invariant: number, title, checked: 0, violations: 0, examples: [] };
  for (const each of checks) {
    const found = await ask(sql, each, run);
    verdict.checked += found.checked;
    verdict.violations += found.violations;
    for (const example of found.examples) verdict.examples.push(await inWords(sql, each, example));
  }
  return verdict;
}

interface Example {
  delay_id: string | null;
  token: string | null;
  why: string;
}

interface Found {
  checked: number;
  violations: number;
  examples: Example[];
}

async function ask(sql: Sql, { of, sql: text }: Check, run: CheckedRun): Promise<Found> {
  const parameters = text.includes('$1') ? [run.maxAttempts] : [];
  const [found] = await sql<Found & Record<string, unknown>>(
    `WITH looked AS MATERIALIZED (SELECT delay_id, token, why FROM (${text}) q),
          broken AS (SELECT delay_id::text, token, why FROM looked WHERE why IS NOT NULL
                     ORDER BY looked.delay_id, token LIMIT ${EXAMPLES_MAX})
     SELECT (SELECT count(*) FROM looked)::int AS checked,
            (SELECT count(why) FROM looked)::int AS violations,
            (SELECT COALESCE(json_agg(broken), '[]') FROM broken) AS examples`,
    parameters,
  );
  if (found === undefined) throw new Error(`no answer about ${of}`);
  return found;
}

async function inWords(
  sql: Sql,
  { of }: Check,
  { delay_id, token, why }: Example,
): Promise<string> {
  const who = [delay_id && `delay ${delay_id}`, token && `"${token}"`].filter(Boolean).join(', ');
  const line = `${who || of}: ${why}`;
  return delay_id === null ? line : `${line}\n${await storyOf(sql, delay_id)}`;
}
