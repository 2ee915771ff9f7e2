import {
  type ID,
  Order,
  type OrderProcess,
  type OrderState,
  type RequestContext,
  StockLevel,
  TransactionalConnection,
} from '@vendure/core';
import { In } from 'typeorm';

/** Locks the order's row until the transaction ends. @returns its state until then */
export async function lockOrder(connection: TransactionalConnection, ctx: RequestContext, id: ID) {
  const lock = { mode: 'pessimistic_write' } as const;
  const found = { where: { id }, lock, loadEagerRelations: false };
  return (await connection.getRepository(ctx, Order).findOneOrFail(found)).state;
}

let connection: TransactionalConnection;

/** Before Vendure's own checks: the order's row, then its stock in the order of ids. */
export const orderLock: OrderProcess<OrderState> = {
  init(injector) {
    connection = injector.get(TransactionalConnection);
  },
  async onTransitionStart(fromState, _toState, { ctx, order }) {
    const state = await lockOrder(connection, ctx, order.id);
    if (state !== fromState) return `The order is ${state} by now`;
    await connection.getRepository(ctx, StockLevel).find({
      where: { productVariantId: In(order.lines.map((line) => line.productVariantId)) },
      order: { id: 'ASC' },
      lock: { mode: 'pessimistic_write' },
      loadEagerRelations: false,
    });
  },
};
