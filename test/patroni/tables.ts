/**
 * Orders, and what became of them. No line of an effect has a unique key: what happened twice shows. A payment and
 * a close lock the row of the order, so each has seen what the other did.
 */
export const TABLES = `
DROP TABLE IF EXISTS orders, payment, effect;
CREATE TABLE orders (id uuid PRIMARY KEY, state text NOT NULL DEFAULT 'UNPAID');
CREATE TABLE payment (id uuid NOT NULL);
CREATE TABLE effect (id uuid NOT NULL, name text NOT NULL, due timestamptz NOT NULL,
                     at timestamptz NOT NULL DEFAULT clock_timestamp());
TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.node`;

/** Parameters: id, name, due. */
export const CLOSE = `
WITH closed AS (UPDATE orders SET state = 'CLOSED' WHERE id = $1 AND state = 'UNPAID' RETURNING id)
INSERT INTO effect (id, name, due) SELECT id, $2, $3 FROM closed`;

/** Parameters: id. */
export const PAY = `
WITH paid AS (UPDATE orders SET state = 'PAID' WHERE id = $1 AND state = 'UNPAID' RETURNING id)
INSERT INTO payment (id) SELECT id FROM paid RETURNING id`;
