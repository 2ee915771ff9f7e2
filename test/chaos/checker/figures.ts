import type { Sql } from '../record/sql.js';

/** How a run went, for people: a name, and a line about it. */
export type Figures = Record<string, string>;

/** What is counted by sorts: a table, and what tells them apart. */
const COUNTED = {
  delays: ['chaos.life', 'ended'],
  writes: ['chaos.step', 'kind'],
  effects: ['chaos.effect', `CASE WHEN fenced THEN 'in transactions' ELSE 'outside' END`],
  calls: ['chaos.client', 'outcome'],
  faults: ['chaos.fault', 'kind'],
} as const;

export async function figuresOf(sql: Sql): Promise<Figures> {
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
