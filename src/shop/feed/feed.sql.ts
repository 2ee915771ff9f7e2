import { ORDER_DELAYS } from '../delays.js';

const ORDER_DELAY_LIST = ORDER_DELAYS.map((name) => `'${name}'`).join(', ');

/**
 * The database's clock, and a text that stays the same for as long as nobody has committed anything:
 * then there is nothing new to look up.
 */
export const NOW = `
  SELECT clock_timestamp() AS now, pg_current_snapshot()::text AS snapshot`;

/**
 * The orders to show (the $1 newest) and those that something happened to last, as far as the $2
 * newest messages and ends of delays tell. Each part reads the end of an index.
 */
export const ORDERS_IN_THE_NEWS = `
  SELECT id FROM (SELECT id FROM orders ORDER BY no DESC LIMIT $1) AS newest
  UNION
  SELECT order_id FROM (SELECT order_id FROM outbox ORDER BY id DESC LIMIT $2) AS told
  UNION
  SELECT coalesce(payment.order_id, ended.order_id)
  FROM (SELECT CASE WHEN name IN (${ORDER_DELAY_LIST}) THEN key::uuid END AS order_id,
               CASE WHEN name = 'payment.refund' THEN key::uuid END AS payment_id
        FROM (SELECT name, key FROM delay_queue.history
              ORDER BY ended_at DESC, id DESC, epoch DESC LIMIT $2) AS newest) AS ended
  LEFT JOIN payment ON payment.id = ended.payment_id`;

/** The delays of the orders $1 and of the payments $2, as texts: those that wait and those that ended. */
export const DELAYS = `
  WITH wanted AS MATERIALIZED (
    SELECT name, key FROM unnest(ARRAY[${ORDER_DELAY_LIST}]) AS name, unnest($1::text[]) AS key
    UNION ALL
    SELECT 'payment.refund', key FROM unnest($2::text[]) AS key
  )
  SELECT delay.id::text, delay.name, delay.key, delay.due_at AS "dueAt", delay.attempts,
         CASE WHEN delay.wake_at = 'infinity' THEN 'dead'
              WHEN delay.leased_until > clock_timestamp() THEN 'running'
              WHEN delay.attempts > 0 THEN 'retrying'
              ELSE 'scheduled' END AS state,
         NULL::timestamptz AS "endedAt", NULL::float8 AS "lateMs", delay.leased_by AS by,
         delay.last_error AS error
  FROM wanted JOIN delay_queue.delay USING (name, key)
  UNION ALL
  SELECT ended.id::text, ended.name, ended.key, ended.due_at, ended.attempts,
         CASE ended.state WHEN 'discarded' THEN 'dead' ELSE ended.state END,
         ended.ended_at, ended.lateness_ms, ended.node, ended.error
  FROM wanted JOIN delay_queue.history ended USING (name, key)`;

/**
 * How late the delays were that ended after $1, by process, in steps that grow with the lateness; of
 * those that fell due before $2 nobody was there to fire them. `settled`: ended before $3, when none
 * can be committed any more that says so.
 */
export const LATENESS = `
  SELECT node, settled, watched, late_ms AS "lateMs", count(*)::int, max(exact) AS "maxMs"
  FROM (SELECT node, ended_at <= $3 AS settled, lateness_ms AS exact,
               name LIKE 'order.%' OR name = 'message.send' AS watched,
               CASE WHEN lateness_ms <= 100 THEN ceil(lateness_ms)
                    WHEN lateness_ms <= 1000 THEN ceil(lateness_ms / 10) * 10
                    WHEN lateness_ms <= 10000 THEN ceil(lateness_ms / 100) * 100
                    ELSE ceil(least(lateness_ms, 3600000) / 1000) * 1000 END AS late_ms
        FROM delay_queue.history
        WHERE ended_at > $1 AND due_at >= $2 AND state = 'completed' AND node IS NOT NULL
       ) AS fired
  GROUP BY node, settled, watched, late_ms`;
