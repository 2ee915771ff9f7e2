import { BATCHED } from '../load/payloads.js';
import type { Sql } from '../record/sql.js';

/** How a run went, for people: a name, and a line about it. */
export type Figures = Record<string, string>;

/** How many there are of each sort. */
const counts = (sort: string, table: string): string =>
  `SELECT string_agg(format('%s %s', times, sort), ', ' ORDER BY sort)
   FROM (SELECT ${sort} AS sort, count(*) AS times FROM ${table} GROUP BY 1) sorts`;

/**
 * A claim counts when it comes right after the write that set its due time, and that time lay ahead
 * when it was written: what was late already, and retries, say nothing about the wheel. Nor do batches:
 * while one hangs, until its timeout, the next waits for it, as it should.
 */
const LATENESS = `
  SELECT format('p50 %s ms, p99 %s ms, max %s ms of %s', percentile_disc(0.5) WITHIN GROUP (ORDER BY late_ms),
                percentile_disc(0.99) WITHIN GROUP (ORDER BY late_ms), max(late_ms), count(*))
  FROM (SELECT c.due_at, round(extract(epoch FROM c.at - c.due_at) * 1000, 1) AS late_ms
        FROM chaos.step c
        JOIN chaos.step w ON w.delay_id = c.delay_id AND w.revision = c.revision - 1
        WHERE c.kind = 'claim' AND c.name <> ALL ('{${Object.keys(BATCHED).join(',')}}')
          AND (w.begins OR w.kind = 'reschedule') AND w.due_at > w.at + interval '1 millisecond') first`;

const FIGURES: Figures = {
  delays: counts('ended', 'chaos.life'),
  claims: `SELECT count(*)::text FROM chaos.step WHERE kind = 'claim'`,
  effects: counts(`CASE WHEN fenced THEN 'in transactions' ELSE 'outside' END`, 'chaos.effect'),
  calls: counts('outcome', 'chaos.client'),
  faults: counts('kind', 'chaos.fault'),
  'late without faults': `${LATENESS} WHERE due_at <= $1`,
  'late with faults': `${LATENESS} WHERE due_at > $1`,
};

export async function figuresOf(sql: Sql, calmUntil: Date): Promise<Figures> {
  const figures: Figures = {};
  for (const [name, query] of Object.entries(FIGURES)) {
    const parameters = query.includes('$1') ? [calmUntil.toISOString()] : [];
    const [row] = await sql<{ line: string | null }>(`SELECT (${query}) AS line`, parameters);
    figures[name] = row?.line ?? 'none';
  }
  return figures;
}
