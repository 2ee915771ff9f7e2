/** By the books of the sample provider, which do not have another provider's refunds. */
export const OF_THE_SAMPLE_PROVIDER = 'the provider has paid back what the shop says';

/** What must always hold. Each query returns one row: `looked_at`, `broken` and an `example`. */
export const INVARIANTS = {
  'stock and what open orders hold add up to the initial stock': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE stock + held <> initial_stock)::int AS broken,
           min(format('%s: %s in stock, %s held, %s at first', sku, stock, held, initial_stock))
             FILTER (WHERE stock + held <> initial_stock) AS example
    FROM (SELECT sku.sku, sku.stock, sku.initial_stock,
                 coalesce(sum(item.quantity) FILTER (WHERE orders.status <> 'CLOSED'), 0) AS held
          FROM sku
          LEFT JOIN order_item item ON item.sku = sku.sku
          LEFT JOIN orders ON orders.id = item.order_id
          GROUP BY sku.sku) AS balance`,

  // A full join is never planned as a lookup of all payments for each order, however empty the
  // tables were at their last ANALYZE. A left join was: it took a second at 4,000 orders and 8,000
  // payments.
  'an order keeps one payment of its total once it is paid, and no other keeps any': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE wrong)::int AS broken,
           min(id::text) FILTER (WHERE wrong) AS example
    FROM (SELECT coalesce(orders.id, kept.order_id) AS id,
                 CASE WHEN coalesce(orders.status, 'unknown') IN ('PAID', 'SHIPPED', 'COMPLETED')
                      THEN kept.payments IS DISTINCT FROM 1 OR kept.amount IS DISTINCT FROM orders.total
                      ELSE kept.payments IS NOT NULL END AS wrong
          FROM orders
          FULL JOIN (SELECT order_id, count(*) AS payments, sum(amount) AS amount
                     FROM payment WHERE status = 'CAPTURED' GROUP BY order_id) AS kept
            ON kept.order_id = orders.id) AS books`,

  // Dead letters count: a person can see them and retry the refund.
  'every payment that goes back has its refund': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE delay.id IS NULL)::int AS broken,
           min(payment.id::text) FILTER (WHERE delay.id IS NULL) AS example
    FROM payment
    LEFT JOIN delay_queue.delay
      ON delay.name = 'payment.refund' AND delay.key = payment.id::text
    WHERE payment.status = 'REFUND_PENDING'`,

  // What it has refunded and the shop has not recorded yet is still pending here.
  [OF_THE_SAMPLE_PROVIDER]: `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE wrong)::int AS broken,
           min(id::text) FILTER (WHERE wrong) AS example
    FROM (SELECT coalesce(payment.id, refund.payment_id) AS id,
                 CASE coalesce(payment.status, 'unknown')
                   WHEN 'REFUNDED' THEN refund.amount IS DISTINCT FROM payment.amount
                   WHEN 'REFUND_PENDING' THEN coalesce(refund.amount <> payment.amount, false)
                   ELSE refund.amount IS NOT NULL END AS wrong
          FROM payment
          FULL JOIN sample_refund refund ON refund.payment_id = payment.id
          WHERE payment.status IS DISTINCT FROM 'CAPTURED' OR refund.amount IS NOT NULL) AS refunded`,

  'an order has at most one review': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE reviews > 1)::int AS broken,
           min(order_id::text) FILTER (WHERE reviews > 1) AS example
    FROM (SELECT order_id, count(*) AS reviews FROM review GROUP BY order_id) AS reviewed`,

  // A dead letter (its wake is infinity) closes nothing; a running or overdue delay still does.
  'every unpaid order has exactly one live order.close': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE closes <> 1)::int AS broken,
           min(id::text) FILTER (WHERE closes <> 1) AS example
    FROM (SELECT orders.id, count(delay.id) AS closes
          FROM orders
          LEFT JOIN delay_queue.delay
            ON delay.name = 'order.close' AND delay.key = orders.id::text
            AND delay.wake_at < 'infinity'
          WHERE orders.status = 'UNPAID'
          GROUP BY orders.id) AS unpaid`,

  // As above; during a dispute the remaining time is kept instead.
  'every shipped order has one live order.confirm, or a frozen one': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE wrong)::int AS broken,
           min(id::text) FILTER (WHERE wrong) AS example
    FROM (SELECT orders.id,
                 CASE WHEN disputed_at IS NULL THEN delay.id IS NULL OR frozen.name IS NOT NULL
                      ELSE frozen.name IS NULL END AS wrong
          FROM orders
          LEFT JOIN delay_queue.delay
            ON delay.name = 'order.confirm' AND delay.key = orders.id::text
            AND delay.wake_at < 'infinity'
          LEFT JOIN frozen_timer frozen
            ON frozen.name = 'order.confirm' AND frozen.order_id = orders.id
          WHERE orders.status = 'SHIPPED') AS shipped`,

  // The buyer's own rating replaces the timer.
  'every completed order is rated, or has one live order.rate, or a frozen one': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE wrong)::int AS broken,
           min(id::text) FILTER (WHERE wrong) AS example
    FROM (SELECT orders.id,
                 review.order_id IS NULL AND delay.id IS NULL AND frozen.name IS NULL AS wrong
          FROM orders
          LEFT JOIN review ON review.order_id = orders.id
          LEFT JOIN delay_queue.delay
            ON delay.name = 'order.rate' AND delay.key = orders.id::text
            AND delay.wake_at < 'infinity'
          LEFT JOIN frozen_timer frozen
            ON frozen.name = 'order.rate' AND frozen.order_id = orders.id
          WHERE orders.status = 'COMPLETED') AS completed`,

  'timers are frozen while their order is under dispute, and only then': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE wrong)::int AS broken,
           min(id::text) FILTER (WHERE wrong) AS example
    FROM (SELECT orders.id,
                 (disputed_at IS NULL) <> (dispute.id IS NULL)
                   OR disputed_at IS NULL AND frozen.order_id IS NOT NULL AS wrong
          FROM orders
          LEFT JOIN dispute ON dispute.order_id = orders.id AND dispute.released_at IS NULL
          LEFT JOIN (SELECT DISTINCT order_id FROM frozen_timer) AS frozen
            ON frozen.order_id = orders.id
          WHERE disputed_at IS NOT NULL OR dispute.id IS NOT NULL
            OR frozen.order_id IS NOT NULL) AS disputed`,

  'the buyer is told each thing at most once': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE messages > 1)::int AS broken,
           min(format('%s %s', order_id, kind)) FILTER (WHERE messages > 1) AS example
    FROM (SELECT order_id, kind, count(*) AS messages
          FROM outbox GROUP BY order_id, kind) AS told`,

  // Dead letters count: a person can see them and send them again.
  'every message is sent or dropped, or waits to be sent': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE forgotten)::int AS broken,
           min(format('%s of order %s', kind, order_id)) FILTER (WHERE forgotten) AS example
    FROM (SELECT kind, order_id,
                 sent_at IS NULL AND dropped_at IS NULL AND NOT EXISTS (
                   SELECT FROM delay_queue.delay
                   WHERE name = 'message.send' AND key = outbox.id::text) AS forgotten
          FROM outbox) AS message`,

  // As for orders: a dead letter sends nothing. A batch that a stopped campaign is sending may run.
  'every campaign that goes on has exactly one live campaign.send': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE sends <> 1)::int AS broken,
           min(id) FILTER (WHERE sends <> 1)::text AS example
    FROM (SELECT campaign.id, count(delay.id) AS sends
          FROM campaign
          LEFT JOIN delay_queue.delay
            ON delay.name = 'campaign.send' AND delay.key = campaign.id::text
            AND delay.wake_at < 'infinity'
          WHERE campaign.state IN ('SCHEDULED', 'RUNNING')
          GROUP BY campaign.id) AS going_on`,

  // By the books of the sample provider, which do not have a webhook's messages.
  'a campaign reaches each of its recipients at most once, and nobody else': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE wrong)::int AS broken,
           min(format('%s of campaign %s', recipient, campaign_id)) FILTER (WHERE wrong) AS example
    FROM (SELECT campaign_id, recipient,
                 count(*) > 1 OR bool_or(coalesce(state = 'PENDING' AND attempts = 0, true)) AS wrong
          FROM sample_campaign_message
          LEFT JOIN campaign_recipient USING (campaign_id, recipient)
          GROUP BY campaign_id, recipient) AS reached`,

  'a completed campaign is over for all of its recipients': `
    SELECT count(*)::int AS looked_at,
           count(*) FILTER (WHERE waiting)::int AS broken,
           min(id) FILTER (WHERE waiting)::text AS example
    FROM (SELECT id, EXISTS (SELECT FROM campaign_recipient
                             WHERE campaign_id = campaign.id
                               AND campaign_recipient.state IN ('PENDING', 'SENDING')) AS waiting
          FROM campaign WHERE state = 'COMPLETED') AS completed`,
} satisfies Record<string, string>;
