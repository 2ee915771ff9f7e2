import { clock, type Invariant } from '../invariant.js';

export const paidOrClosed: Invariant = {
  number: 5,
  title: 'paid means never closed, unpaid past due means closed',
  checks: [
    {
      of: 'orders',
      sql: `
        SELECT NULL::bigint AS delay_id, o.id::text AS token,
               CASE WHEN o.paid_at IS NOT NULL AND (o.status = 'CLOSED' OR o.closed_at IS NOT NULL) THEN
                      format('paid at %s and closed at %s', ${clock('o.paid_at')}, ${clock('o.closed_at')})
                    WHEN o.close_reason = 'not paid in time' AND o.closed_at < o.pay_deadline THEN
                      format('closed at %s, and there was time to pay until %s',
                             ${clock('o.closed_at')}, ${clock('o.pay_deadline')})
                    WHEN o.status = 'UNPAID' AND o.pay_deadline < clock_timestamp() THEN
                      format('never paid, never closed, due at %s', ${clock('o.pay_deadline')})
                    WHEN o.status = 'COMPLETED' AND NOT EXISTS (
                      SELECT FROM review r WHERE r.order_id = o.id)
                    THEN 'completed and never rated'
               END AS why
        FROM orders o`,
    },
    {
      of: 'acknowledged payments and shipments',
      sql: `
        SELECT NULL::bigint AS delay_id, c.key AS token,
               CASE WHEN o.id IS NULL THEN format('call %s: %s, and there is no such order', c.call, c.verb)
                    WHEN o.paid_at IS NULL OR o.status NOT IN ('PAID', 'SHIPPED', 'COMPLETED') THEN
                      format('call %s: %s was acknowledged, and the order is %s', c.call, c.verb, o.status)
                    WHEN c.verb = 'ship' AND o.shipped_at IS NULL THEN
                      format('call %s: the shipment was acknowledged, and the order is %s', c.call, o.status)
                    WHEN NOT EXISTS (SELECT FROM payment p
                                     WHERE p.order_id = o.id AND p.status = 'CAPTURED') THEN
                      format('call %s: paid, and the money is not written down', c.call)
               END AS why
        FROM chaos.client c LEFT JOIN orders o ON o.id::text = c.key
        WHERE c.verb IN ('pay', 'ship') AND c.outcome = 'ok'`,
    },
    {
      of: 'orders for which every payment was refused',
      sql: `
        SELECT NULL::bigint AS delay_id, c.key AS token,
               CASE WHEN o.paid_at IS NOT NULL THEN
                 format('paid at %s, and every call was told that it was not', ${clock('o.paid_at')})
               END AS why
        FROM (SELECT key FROM chaos.client WHERE verb = 'pay'
              GROUP BY key HAVING bool_and(outcome = 'fail')) c
        JOIN orders o ON o.id::text = c.key`,
    },
    {
      of: 'placed orders',
      // The same key may be asked for again by whoever heard nothing: refused only if all of them were.
      sql: `
        SELECT NULL::bigint AS delay_id, COALESCE(c.id, c.key) AS token,
               CASE WHEN c.outcome = 'ok' AND NOT EXISTS (SELECT FROM orders o WHERE o.id::text = c.id) THEN
                      format('call %s was told that order %s is placed, and there is none', c.call, c.id)
                    WHEN c.refused AND EXISTS (SELECT FROM orders o WHERE o.idempotency_key = c.key) THEN
                      format('call %s failed, and its order is there', c.call)
               END AS why
        FROM (SELECT *, bool_and(outcome = 'fail') OVER (PARTITION BY key) AS refused
              FROM chaos.client WHERE verb = 'place') c`,
    },
  ],
};
