/** For an order that is disputed again and again: the view shows only the newest. */
const ENDED_MAX = 500;
/** Payments, disputes and conflicts each: they may be reported again and again. */
export const OF_A_KIND_MAX = 100;

/**
 * The order $1 with all that belongs to it, and its delays of the names $2: one row, with each list
 * as JSON.
 *
 * The delays are read from the library's documented tables, because `DelayService` reads one name
 * and key at a time. `OFFSET 0` turns each into an index lookup, whatever the statistics: those of
 * a table that was empty would cause a sequential scan.
 */
export const ORDER_PICTURE = `
  WITH paid AS MATERIALIZED (
    SELECT * FROM payment WHERE order_id = $1::uuid
    ORDER BY status = 'CAPTURED' DESC, captured_at DESC, id LIMIT ${OF_A_KIND_MAX}
  ), timer (name, key) AS MATERIALIZED (
    SELECT unnest($2::text[]), $1::text UNION ALL SELECT 'payment.refund', id::text FROM paid
  )
  SELECT
    to_json(orders) AS "order",
    (SELECT json_agg(item ORDER BY sku) FROM order_item AS item
     WHERE order_id = orders.id) AS items,
    (SELECT json_agg(paid ORDER BY captured_at, id) FROM paid) AS payments,
    (SELECT json_agg(review) FROM review WHERE order_id = orders.id) AS reviews,
    (SELECT json_agg(outbox ORDER BY id) FROM outbox WHERE order_id = orders.id) AS messages,
    (SELECT json_agg(json_build_object('conflict', conflict, 'payment', (
                       SELECT to_json(payment) FROM payment WHERE id = payment_id))
                     ORDER BY reported_at, conflict.id)
     FROM (SELECT * FROM payment_conflict
           WHERE order_id = orders.id OR payment_id = ANY (ARRAY (SELECT id FROM paid))
           ORDER BY reported_at DESC, id DESC LIMIT ${OF_A_KIND_MAX}) AS conflict) AS conflicts,
    (SELECT json_agg(dispute ORDER BY opened_at)
     FROM (SELECT * FROM dispute WHERE order_id = orders.id
           ORDER BY opened_at DESC LIMIT ${OF_A_KIND_MAX}) AS dispute) AS disputes,
    (SELECT json_agg(frozen ORDER BY name) FROM frozen_timer AS frozen
     WHERE order_id = orders.id) AS frozen,
    (SELECT json_agg(waiting ORDER BY waiting.name, waiting.key)
     FROM timer CROSS JOIN LATERAL (
       SELECT name, key, due_at AS "dueAt", attempts, last_error AS "lastError",
              CASE WHEN wake_at = 'infinity' THEN 'dead'
                   WHEN leased_until > clock_timestamp() THEN 'running'
                   WHEN attempts > 0 THEN 'retrying' ELSE 'scheduled' END AS state
       FROM delay_queue.delay WHERE name = timer.name AND key = timer.key OFFSET 0
     ) AS waiting) AS live,
    (SELECT json_agg(newest)
     FROM (SELECT past.* FROM timer CROSS JOIN LATERAL (
             SELECT name, state, due_at AS "dueAt", ended_at AS "endedAt",
                    lateness_ms AS "latenessMs", attempts, error
             FROM delay_queue.history WHERE name = timer.name AND key = timer.key OFFSET 0
           ) AS past ORDER BY "endedAt" DESC LIMIT ${ENDED_MAX}) AS newest) AS ended,
    clock_timestamp() AS now
  FROM orders WHERE id = $1::uuid`;
