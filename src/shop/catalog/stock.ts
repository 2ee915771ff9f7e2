import { BadRequestException, ConflictException } from '@nestjs/common';
import { Any, In, MoreThanOrEqual, type EntityManager } from 'typeorm';
import { OrderItem } from '../orders/order.entity.js';
import { Sku } from './sku.entity.js';

/** So many of one SKU. */
export interface Quantity {
  sku: string;
  quantity: number;
}

/** A quantity with name and price as they are now. */
export interface PricedQuantity extends Quantity {
  name: string;
  price: number;
}

/** Reads prices without locking anything: only {@link takeStock} decides who gets the last one. */
export async function priceOf(
  manager: EntityManager,
  quantities: Quantity[],
): Promise<PricedQuantity[]> {
  const skus = await manager.findBy(Sku, { sku: In(quantities.map(({ sku }) => sku)) });
  const known = new Map(skus.map((sku) => [sku.sku, sku]));
  return quantities.map(({ sku, quantity }) => {
    const article = known.get(sku);
    if (!article) throw new BadRequestException([`items: there is no SKU "${sku}"`]);
    return { sku, quantity, name: article.name, price: article.price };
  });
}

/**
 * Takes all of it or throws 409, naming what is short. SKUs are taken in id order, so two orders of
 * the same things wait for each other instead of deadlocking; `stock >= quantity` is judged on the
 * locked row, so the last one is sold once.
 *
 * One plain update per SKU. Locking all of them in a CTE and updating them in the same statement
 * deadlocked under load (6 in 300 orders of one SKU that closed while others were placed).
 */
export async function takeStock(manager: EntityManager, quantities: Quantity[]): Promise<void> {
  for (const { sku, quantity } of inSkuOrder(quantities)) {
    const { affected } = await manager.update(
      Sku,
      { sku, stock: MoreThanOrEqual(quantity) },
      { stock: () => `stock - ${quantity}` },
    );
    if (affected !== 1) throw outOfStock(await manager.findOneByOrFail(Sku, { sku }));
  }
}

/**
 * Puts the items of orders back. Call it once, after their rows have been moved to CLOSED. An update
 * per SKU and not per item: a thousand orders of one SKU write its row once.
 */
export async function returnStock(
  manager: EntityManager,
  orderIds: readonly string[],
): Promise<void> {
  const returned = await manager
    .createQueryBuilder(OrderItem, 'item')
    .select('item.sku', 'sku')
    .addSelect('sum(item.quantity)::int', 'quantity')
    .where({ orderId: Any(orderIds) })
    .groupBy('item.sku')
    .getRawMany<Quantity>();
  for (const { sku, quantity } of inSkuOrder(returned)) {
    await manager.update(Sku, { sku }, { stock: () => `stock + ${quantity}` });
  }
}

const inSkuOrder = <T extends Quantity>(quantities: T[]): T[] =>
  quantities.toSorted((a, b) => (a.sku < b.sku ? -1 : 1));

function outOfStock({ sku, stock }: { sku: string; stock: number }): ConflictException {
  return new ConflictException({
    statusCode: 409,
    error: 'Conflict',
    message: `${sku} is out of stock: ${stock} left`,
    sku,
  });
}
