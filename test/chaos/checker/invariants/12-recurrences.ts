import { CLOCK_EVERY_MS, CLOCK_KEY } from '../../load/clocks.js';
import { clock, type Check, type Invariant } from '../invariant.js';

const CLOCK = `d.name LIKE 'clock.%' AND d.key = '${CLOCK_KEY}'`;

/** Every instant from the first one to the next one, which is not run yet. */
const INSTANTS = `instants AS (
  SELECT d.id, d.name, at AS instant
  FROM delay_queue.delay d,
       generate_series(to_timestamp((d.repeat ->> 'from')::float8 / 1000), d.due_at - interval '1 millisecond',
                       interval '${CLOCK_EVERY_MS} milliseconds') AS at
  WHERE ${CLOCK})`;

const lines: Check = {
  of: 'instants of what recurs, and their lines of history',
  sql: `
    WITH ${INSTANTS}
    SELECT i.id AS delay_id, i.name AS token,
           CASE WHEN count(h.id) <> 1 THEN
             format('%s has %s lines of history', ${clock('i.instant')}, count(h.id))
           END AS why
    FROM instants i LEFT JOIN delay_queue.history h ON h.id = i.id AND h.due_at = i.instant
    GROUP BY i.id, i.name, i.instant`,
};

/** A transactional one that completed has one effect, a plain one at least one. */
const ticks: Check = {
  of: 'lines of what recurs, and their effects',
  sql: `
    SELECT h.id AS delay_id, h.name AS token,
           CASE WHEN h.state = 'completed' AND t.times = 0 THEN format('%s completed without an effect', ${clock('h.due_at')})
                WHEN h.state = 'discarded' AND t.times > 0 AND h.name = 'clock.fenced' THEN
                  format('%s was discarded, and has an effect', ${clock('h.due_at')})
                WHEN t.times > 1 AND h.name = 'clock.fenced' THEN format('%s was done %s times', ${clock('h.due_at')}, t.times)
                WHEN t.first < h.due_at THEN format('%s was done at %s', ${clock('h.due_at')}, ${clock('t.first')})
           END AS why
    FROM delay_queue.history h, LATERAL (
      SELECT count(*)::int AS times, min(t.at) AS first
      FROM chaos.tick t WHERE t.delay_id = h.id AND t.due_at = h.due_at) t
    WHERE h.name LIKE 'clock.%'`,
};

const rows: Check = {
  of: 'rows of what recurs',
  sql: `
    SELECT d.id AS delay_id, d.name AS token,
           CASE WHEN d.wake_at = 'infinity' THEN 'a dead letter'
                WHEN ${CLOCK} AND d.due_at < d.created_at + (r.ended - d.created_at) / 2 THEN
                  format('the run ended at %s, and it has come to %s', ${clock('r.ended')}, ${clock('d.due_at')})
                WHEN ${CLOCK} AND mod(extract(epoch FROM d.due_at) * 1000 - (d.repeat ->> 'from')::numeric, ${CLOCK_EVERY_MS}) <> 0
                THEN format('its next instant %s is none', ${clock('d.due_at')})
           END AS why
    FROM delay_queue.delay d, (SELECT max(ended_at) AS ended FROM delay_queue.history WHERE name LIKE 'chaos.%') r
    WHERE d.repeat IS NOT NULL`,
};

export const recurrences: Invariant = {
  number: 12,
  title: 'what recurs is one row that runs each of its instants, once',
  checks: [rows, lines, ticks],
};
