import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { Order } from '../orders/order.entity.js';
import { PaymentConflict } from './payment-conflict.entity.js';
import { Payment } from './payment.entity.js';
import type { PaymentReceipt, PaymentReport } from './payments.schemas.js';

/** `false`: this transaction was recorded before, perhaps just now by another request. */
export async function writeDown(
  manager: EntityManager,
  id: string,
  report: PaymentReport,
): Promise<boolean> {
  const insert = manager
    .createQueryBuilder()
    .insert()
    .into(Payment)
    .values({ ...report, id, status: 'CAPTURED' })
    .orIgnore();
  const { raw } = await insert.returning('id').execute();
  return raw.length === 1;
}

/** For a transaction on record: the same report again, or one that contradicts it. */
export async function reportedBefore(
  manager: EntityManager,
  { provider, transaction, orderId, amount }: PaymentReport,
): Promise<PaymentReceipt> {
  const first = await manager.findOneByOrFail(Payment, { provider, transaction });
  const receipt = { paymentId: first.id, status: first.status };
  if (first.orderId === orderId && first.amount === amount) {
    const reason = first.refundReason;
    return { ...receipt, repeated: true, ...(reason !== null && { reason }) };
  }
  const conflict = { id: randomUUID(), paymentId: first.id, orderId, amount };
  await manager
    .createQueryBuilder()
    .insert()
    .into(PaymentConflict)
    .values(conflict)
    .orIgnore()
    .execute();
  return {
    ...receipt,
    repeated: false,
    conflict: { orderId: first.orderId, amount: first.amount },
    reason: `transaction ${transaction} is on record as ${first.amount} for order ${first.orderId}`,
  };
}

/** Why a payment does not pay its order. */
export async function whyNotKept(
  manager: EntityManager,
  { orderId, amount }: PaymentReport,
): Promise<string> {
  const order = await manager.findOneBy(Order, { id: orderId });
  if (!order) return 'no such order';
  if (order.status === 'CLOSED') return 'the order was closed';
  if (order.status !== 'UNPAID') return 'the order was paid already';
  return `paid ${amount} instead of ${order.total}`;
}
