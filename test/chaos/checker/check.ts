import type { Sql } from '../record/record.js';
import type { Check, Invariant } from './invariant.js';
import { ALL } from './invariants/index.js';
import { DERIVED } from './steps.js';

/** What one invariant came to. */
export interface Verdict {
  invariant: number;
  title: string;
  /** Things looked at. */
  checked: number;
  violations: number;
  /** The first violations in words. */
  examples: string[];
}

/** How a run went, for people: a name, and a line about it. */
export type Figures = Record<string, string>;

/** Told per check; the count says how many there are. */
const EXAMPLES_MAX = 10;

/**
 * Judges a run by its record: producers have stopped, the system has gone quiet, nobody is left.
 *
 * @param maxAttempts of a delay that was scheduled without a number of its own
 */
export async function check(
  sql: Sql,
  maxAttempts: number,
): Promise<{ verdicts: Verdict[]; figures: Figures }> {
  for (const statement of DERIVED) await sql(statement);
  const verdicts: Verdict[] = [];
  for (const invariant of ALL) verdicts.push(await judge(sql, invariant, maxAttempts));
  return { verdicts, figures: await figuresOf(sql) };
}

async function judge(
  sql: Sql,
  { number, title, checks }: Invariant,
  maxAttempts: number,
): Promise<Verdict> {
  const verdict: Verdict = { invariant: number, title, checked: 0, violations: 0, examples: [] };
  for (const each of checks) {
    const { checked, broken } = await ask(sql, each, maxAttempts);
    verdict.checked += checked;
    verdict.violations += broken.length;
    verdict.examples.push(...broken.slice(0, EXAMPLES_MAX));
  }
  return verdict;
}

async function ask(sql: Sql, { of, sql: text }: Check, maxAttempts: number) {
  const [found] = await sql<{ checked: number; broken: string[] }>(
    `WITH looked AS MATERIALIZED (SELECT delay_id, token, why FROM (${text}) q)
     SELECT count(*)::int AS checked,
            COALESCE(json_agg(format('%s, "%s": %s', COALESCE('delay ' || delay_id, $1::text), token, why)
                              ORDER BY delay_id, token) FILTER (WHERE why IS NOT NULL), '[]') AS broken
     FROM looked`,
    text.includes('$2') ? [of, maxAttempts] : [of],
  );
  if (found === undefined) throw new Error(`no answer about ${of}`);
  return found;
}

/** What is counted by sorts: a table, and what tells them apart. */
const COUNTED = {
  delays: ['chaos.life', 'ended'],
  writes: ['chaos.step', 'kind'],
  effects: ['chaos.effect', `CASE WHEN fenced THEN 'in transactions' ELSE 'outside' END`],
  calls: ['chaos.client', 'outcome'],
  faults: ['chaos.fault', 'kind'],
} as const;

async function figuresOf(sql: Sql): Promise<Figures> {
  const figures: Figures = {};
  for (const [name, [table, sort]] of Object.entries(COUNTED)) {
    const [row] = await sql<{ line: string | null }>(
      `SELECT string_agg(format('%s %s', times, sort), ', ' ORDER BY sort) AS line
       FROM (SELECT ${sort} AS sort, count(*) AS times FROM ${table} GROUP BY 1) sorts`,
    );
    figures[name] = row?.line ?? 'none';
  }
  return figures;
}
