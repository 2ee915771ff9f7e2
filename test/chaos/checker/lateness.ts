import { BATCHED } from '../load/payloads.js';
import type { Sql } from '../record/sql.js';

/** Claim minus due on the database's clock, in milliseconds; null where there was none. */
export interface Lateness {
  delays: number;
  p50Ms: number | null;
  p99Ms: number | null;
  maxMs: number | null;
}

/**
 * A claim counts when it comes right after the write that set its due time, and that time lay ahead
 * when it was written, by more than what rounding up to a millisecond makes of "at once": what was late
 * already, and retries, say nothing about the wheel. Nor do batches: while one hangs, until its
 * timeout, the next waits for it, as it should. A name that nobody served has no claim, and one that was
 * left out by some nodes counts like any other.
 */
export async function latenessOf(
  sql: Sql,
  calmUntil: Date,
): Promise<{ calm: Lateness; faults: Lateness }> {
  const rows = await sql<Lateness & { calm: boolean }>(
    `WITH first AS (
       SELECT c.due_at <= $1::timestamptz AS calm, extract(epoch FROM c.at - c.due_at) * 1000 AS late_ms
       FROM chaos.step c
       JOIN chaos.step w ON w.delay_id = c.delay_id AND w.revision = c.revision - 1
       WHERE c.kind = 'claim' AND c.name <> ALL ($2::text[])
         AND (w.begins OR w.kind = 'reschedule') AND w.due_at > w.at + interval '1 millisecond'
     )
     SELECT calm, count(*)::int AS delays,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY late_ms)::float8 AS "p50Ms",
            percentile_disc(0.99) WITHIN GROUP (ORDER BY late_ms)::float8 AS "p99Ms",
            max(late_ms)::float8 AS "maxMs"
     FROM first GROUP BY calm`,
    [calmUntil.toISOString(), Object.keys(BATCHED)],
  );
  const of = (calm: boolean): Lateness => {
    const row = rows.find((each) => each.calm === calm);
    return {
      delays: row?.delays ?? 0,
      p50Ms: row?.p50Ms ?? null,
      p99Ms: row?.p99Ms ?? null,
      maxMs: row?.maxMs ?? null,
    };
  };
  return { calm: of(true), faults: of(false) };
}
