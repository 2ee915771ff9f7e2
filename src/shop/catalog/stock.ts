import type { EntityManager } from 'typeorm';
import { InvalidRequest } from '../http/invalid-request.js';
import { ProblemException } from '../http/problem.js';
import { entityOf, type JsonRow } from '../json-row.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { Sku } from './sku.entity.js';

export interface Quantity {
  sku: string;
  quantity: number;
}

/** A quantity with its present name and price. */
export interface PricedQuantity extends Quantity {
  name: string;
  price: number;
}

/** The requested items with prices, and their merchant. */
export interface Offer {
  merchant: Merchant;
  lines: PricedQuantity[];
  /** When prices and terms were read, on the database's clock. */
  readAt: Date;
}

/**
 * Reads prices and terms without locks: only {@link takeStock} decides which order gets the last
 * one.
 *
 * @throws 400 for an unknown SKU, and for SKUs of different merchants, whose terms differ
 */
export async function offerOf(manager: EntityManager, quantities: Quantity[]): Promise<Offer> {
  const rows = await manager.query<{ article: JsonRow; merchant: JsonRow; readAt: Date }[]>(
    `SELECT to_json(article) AS article, to_json(merchant) AS merchant, clock_timestamp() AS "readAt"
     FROM sku AS article JOIN merchant ON merchant.id = article.merchant_id
     WHERE article.sku = ANY ($1)`,
    [quantities.map(({ sku }) => sku)],
  );
  const skus = rows.map((row) =>
    Object.assign(entityOf(manager, Sku, row.article), {
      merchant: entityOf(manager, Merchant, row.merchant),
    }),
  );
  const known = new Map(skus.map((sku) => [sku.sku, sku]));
  const lines = quantities.map(({ sku, quantity }) => {
    const article = known.get(sku);
    if (!article) {
      throw new InvalidRequest({
        field: 'items',
        message: `there is no SKU "${sku}"; see GET /skus`,
      });
    }
    return { sku, quantity, name: article.name, price: article.price };
  });
  const { sku, merchant } = skus[0]!;
  const foreign = skus.find(({ merchantId }) => merchantId !== merchant.id);
  if (foreign) {
    throw new InvalidRequest({
      field: 'items',
      message: `${sku} and ${foreign.sku} are of different merchants; place an order with each`,
    });
  }
  return { merchant, lines, readAt: rows[0]!.readAt };
}

/**
 * Takes all of it for that order, or throws 409 naming what is short. SKUs are taken in id order,
 * so two orders of the same SKUs wait for each other and do not deadlock. `stock >= quantity` is
 * checked on the locked row, so the last one is sold once.
 *
 * One statement per SKU: locking all of them in a CTE and updating them in the same statement
 * deadlocked under load (6 in 300 orders of one SKU that closed while others were placed). It also
 * writes the order's line. Written earlier, the line's foreign key would lock the SKU's row for
 * every waiting order, and each new version of the row would have to list them all.
 *
 * @returns when all of it was taken, on the database's clock
 */
export async function takeStock(
  manager: EntityManager,
  orderId: string,
  lines: PricedQuantity[],
): Promise<Date> {
  let takenAt!: Date;
  for (const { sku, name, price, quantity } of inSkuOrder(lines)) {
    const [written] = await manager.query<{ takenAt: Date }[]>(
      `WITH taken AS (
         UPDATE sku SET stock = stock - $3 WHERE sku = $2 AND stock >= $3 RETURNING sku
       )
       INSERT INTO order_item (order_id, sku, quantity, name, price)
       SELECT $1::uuid, sku, $3, $4, $5::int FROM taken
       RETURNING clock_timestamp() AS "takenAt"`,
      [orderId, sku, quantity, name, price],
    );
    if (!written) throw outOfStock(await manager.findOneByOrFail(Sku, { sku }));
    takenAt = written.takenAt;
  }
  return takenAt;
}

/**
 * Puts the items of orders back. To be called once, after their rows have been moved to CLOSED.
 * SKUs are locked in id order and then written all at once: until the commit every order of one of
 * them waits, and a round trip per SKU would make that long.
 */
export async function returnStock(
  manager: EntityManager,
  orderIds: readonly string[],
): Promise<void> {
  await manager.query(
    `SELECT FROM sku WHERE sku IN (SELECT sku FROM order_item WHERE order_id = ANY ($1))
     ORDER BY sku FOR NO KEY UPDATE`,
    [orderIds],
  );
  await manager.query(
    `UPDATE sku SET stock = stock + returned.quantity
     FROM (SELECT sku, sum(quantity) AS quantity FROM order_item
           WHERE order_id = ANY ($1) GROUP BY sku) AS returned
     WHERE sku.sku = returned.sku`,
    [orderIds],
  );
}

const inSkuOrder = <T extends Quantity>(quantities: T[]): T[] =>
  quantities.toSorted((a, b) => (a.sku < b.sku ? -1 : 1));

const outOfStock = ({ sku, stock }: { sku: string; stock: number }): ProblemException =>
  new ProblemException('out-of-stock', `${sku} is out of stock: ${stock} left`, { sku });
