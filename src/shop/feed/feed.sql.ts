import { ORDER_DELAYS } from '../delays.js';
import { REMINDED_MERCHANTS } from '../merchants/merchants.sql.js';
import { MERCHANTS_MAX, MESSAGES_MAX, ORDERS_MAX } from './feed.js';

const ORDER_DELAY_LIST = ORDER_DELAYS.map((name) => `'${name}'`).join(', ');

/** How many recent messages and ends of delays are searched for orders with news. */
const NEWS_MAX = 40;
/** The latest of what an order may have any number of: payments, disputes, ends of one delay. */
const OF_A_KIND_MAX = 20;

/** The database's clock, and a text that stays the same until something new is committed. */
export const NOW = `
  SELECT clock_timestamp() AS now, pg_current_snapshot()::text AS snapshot`;

/**
 * The newest orders, and those with news, according to the newest messages and ends of delays. Each
 * part reads the end of an index.
 */
const IN_THE_NEWS = `
  SELECT id FROM (SELECT id FROM orders ORDER BY no DESC LIMIT ${ORDERS_MAX}) AS newest
  UNION
  SELECT order_id FROM (SELECT order_id FROM outbox ORDER BY id DESC LIMIT ${NEWS_MAX}) AS told
  UNION
  SELECT CASE WHEN name = 'payment.refund'
              THEN (SELECT order_id FROM payment WHERE id = key::uuid) ELSE key::uuid END
  FROM (SELECT name, key FROM delay_queue.history
        ORDER BY ended_at DESC, id DESC, epoch DESC LIMIT ${NEWS_MAX}) AS ended
  WHERE name IN (${ORDER_DELAY_LIST}, 'race.pay', 'payment.refund')`;

const its = (rows: string): string =>
  `(SELECT coalesce(json_agg(its), '[]') FROM (${rows}) AS its)`;

const PAYMENTS = `
  SELECT id, status, amount, captured_at AS "capturedAt", refunded_at AS "refundedAt",
         refund_reason AS "refundReason"
  FROM payment WHERE order_id = orders.id ORDER BY captured_at DESC, id LIMIT ${OF_A_KIND_MAX}`;

/**
 * The delays of an order and of its refunds, both scheduled and ended. One index lookup for each
 * name and key, which the LIMITs enforce whatever the statistics are. A join read the whole
 * history: 18 ms at 40 orders a second, and 76 ms at 100.
 */
const DELAYS = `
  SELECT its.*
  FROM (SELECT name, orders.id::text AS key FROM unnest(ARRAY[${ORDER_DELAY_LIST}, 'race.pay']) AS name
        UNION ALL
        SELECT 'payment.refund', payment.id::text FROM (${PAYMENTS}) AS payment) AS wanted
  CROSS JOIN LATERAL (
    (SELECT id::text, name, due_at AS "dueAt", attempts,
            CASE WHEN wake_at = 'infinity' THEN 'dead'
                 WHEN leased_until > clock_timestamp() THEN 'running'
                 WHEN attempts > 0 THEN 'retrying'
                 ELSE 'scheduled' END AS state,
            NULL::timestamptz AS "endedAt", NULL::float8 AS "lateMs", leased_by AS by,
            last_error AS error,
            CASE WHEN leased_by IS NULL AND wake_at < 'infinity' THEN wake_at END AS "nextAt",
            payload ->> 'race' AS race
     FROM delay_queue.delay WHERE name = wanted.name AND key = wanted.key LIMIT 1)
    UNION ALL
    (SELECT id::text, name, due_at, attempts,
            CASE state WHEN 'discarded' THEN 'dead' ELSE state END,
            ended_at, lateness_ms, node, error, NULL, NULL
     FROM delay_queue.history WHERE name = wanted.name AND key = wanted.key
     ORDER BY ended_at DESC LIMIT ${OF_A_KIND_MAX})) AS its`;

/** Orders with everything that belongs to them; `ids` is a query, or a list. */
const ordersWith = (ids: string): string => `
  SELECT id, no, status, total, merchant_id AS "merchantId", pay_deadline AS "payDeadline",
         auto_confirm_at AS "autoConfirmAt", extended, close_reason AS "closeReason",
         placed_at AS "placedAt", paid_at AS "paidAt", shipped_at AS "shippedAt",
         extended_at AS "extendedAt", completed_at AS "completedAt", closed_at AS "closedAt",
         ${its(`SELECT sku, name, price, quantity FROM order_item WHERE order_id = orders.id ORDER BY sku`)} AS items,
         ${its(PAYMENTS)} AS payments,
         (SELECT to_json(its) FROM (SELECT stars, source, created_at AS "createdAt"
                                    FROM review WHERE order_id = orders.id) AS its) AS review,
         ${its(`SELECT id, reason, opened_at AS "openedAt", released_at AS "releasedAt"
                FROM dispute WHERE order_id = orders.id
                ORDER BY opened_at DESC LIMIT ${OF_A_KIND_MAX}`)} AS disputes,
         ${its(`SELECT name, left_ms AS "leftMs" FROM frozen_timer WHERE order_id = orders.id`)} AS frozen,
         ${its(`SELECT id::text, kind, created_at AS "createdAt", sent_at AS "sentAt"
                FROM outbox WHERE order_id = orders.id`)} AS messages,
         ${its(DELAYS)} AS delays
  FROM orders WHERE id = ANY (${ids})`;

/** The order $1. */
export const PICTURE = `
  SELECT to_json(picture)::text AS row FROM (${ordersWith('ARRAY[$1::uuid]')}) AS picture`;

/** The newest orders and those with news. An array, so that they are looked up by their index. */
const PICTURES = ordersWith(`ARRAY(${IN_THE_NEWS})`);

export const PICTURES_IN_THE_NEWS = `
  SELECT to_json(picture)::text AS row FROM (${PICTURES}) AS picture`;

const SKUS = `SELECT sku, name, price, stock, initial_stock AS "initialStock" FROM sku`;

const MESSAGES = `
  SELECT id::text, sent_at AS at, order_id AS "orderId",
         (SELECT no FROM orders WHERE id = order_id) AS no, kind, text
  FROM (SELECT * FROM outbox WHERE sent_at IS NOT NULL ORDER BY id DESC LIMIT ${MESSAGES_MAX}) AS sent`;

/**
 * Lateness of the delays that ended after $1, by process, in steps of a tenth of a millisecond or a
 * hundredth, whichever is larger. Delays that fell due before $2 do not count: no process was there
 * to fire them. `settled`: ended before $3, when no earlier end can be committed any more. The
 * upper bound `infinity` tells the planner that this is the end of an index, not a third of the
 * table.
 */
const LATENESS = `
  SELECT node, settled, watched, late_ms AS "lateMs", count(*)::int, max(exact) AS "maxMs"
  FROM (SELECT node, ended_at <= $3 AS settled, lateness_ms AS exact,
               name LIKE 'order.%' OR name = 'message.send' AS watched,
               CASE WHEN lateness_ms <= 100 THEN ceil(lateness_ms * 10) / 10
                    WHEN lateness_ms <= 1000 THEN ceil(lateness_ms)
                    WHEN lateness_ms <= 10000 THEN ceil(lateness_ms / 10) * 10
                    ELSE ceil(least(lateness_ms, 3600000) / 100) * 100 END AS late_ms
        FROM delay_queue.history
        WHERE ended_at > $1 AND ended_at < 'infinity' AND due_at >= $2
          AND state = 'completed' AND node IS NOT NULL) AS fired
  GROUP BY node, settled, watched, late_ms`;

const MERCHANTS = `${REMINDED_MERCHANTS} ORDER BY id LIMIT ${MERCHANTS_MAX}`;

/** What a row of {@link FEED} is about. */
export type Part = 'orders' | 'skus' | 'messages' | 'merchants' | 'lateness';

const PARTS: Record<Part, string> = {
  orders: PICTURES,
  skus: SKUS,
  messages: MESSAGES,
  merchants: MERCHANTS,
  lateness: LATENESS,
};

/**
 * Everything that a poll needs, from one snapshot, in no order: a row as JSON for each order, SKU,
 * message and step of lateness. One statement per table, through entities, took four times the CPU:
 * 12 ms of this process for 55 orders, of which a third had changed.
 */
export const FEED = Object.entries(PARTS)
  .map(
    ([part, rows]) => `SELECT '${part}' AS part, to_json(its)::text AS row FROM (${rows}) AS its`,
  )
  .join('\n  UNION ALL\n');
