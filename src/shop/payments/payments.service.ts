import { Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { randomUUID } from 'node:crypto';
import { DataSource, Raw, type EntityManager } from 'typeorm';
import { Order } from '../orders/order.entity.js';
import { OrderMoves } from '../orders/order-moves.service.js';
import { refusal } from '../orders/order.moves.js';
import { Payment } from './payment.entity.js';
import type { PaymentReceipt, PaymentReport } from './payments.schemas.js';
import { SampleProvider } from './sample-provider.js';

@Injectable()
export class PaymentsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
    private readonly moves: OrderMoves,
    private readonly provider: SampleProvider,
  ) {}

  /**
   * A new attempt to pay: refused once the deadline has passed on the database's clock, even while
   * the order still waits to be closed.
   */
  pay(orderId: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const inTime = { payDeadline: Raw((deadline) => `${deadline} > clock_timestamp()`) };
      if (!(await this.moves.one(manager, orderId, { from: 'UNPAID', to: 'PAID' }, inTime))) {
        throw await refusal(manager, orderId, 'paid', ({ status, closeReason }) =>
          status === 'UNPAID'
            ? 'the time to pay is over'
            : `it is ${status}`.concat(closeReason ? ` (${closeReason})` : ''),
        );
      }
      const { total: amount } = await manager.findOneByOrFail(Order, { id: orderId });
      const capture = this.provider.capture();
      await manager.insert(Payment, {
        ...capture,
        id: randomUUID(),
        orderId,
        amount,
        status: 'CAPTURED',
      });
    });
  }

  /**
   * Money that a provider has taken already; it cannot be refused any more, only kept or given
   * back. It is kept when it is the first full payment of an order that is still unpaid, also after
   * the deadline. A transaction that was reported before changes nothing.
   */
  record(report: PaymentReport): Promise<PaymentReceipt> {
    return this.dataSource.transaction(async (manager) => {
      const paymentId = randomUUID();
      if (!(await writeDown(manager, paymentId, report))) return repeated(manager, report);

      const { orderId, amount: total } = report;
      if (await this.moves.one(manager, orderId, { from: 'UNPAID', to: 'PAID' }, { total })) {
        return { paymentId, status: 'CAPTURED', repeated: false };
      }
      await this.giveBack(manager, paymentId, await whyNotKept(manager, report));
      return { paymentId, status: 'REFUND_PENDING', repeated: false };
    });
  }

  private async giveBack(manager: EntityManager, id: string, refundReason: string): Promise<void> {
    await manager.update(Payment, { id }, { status: 'REFUND_PENDING', refundReason });
    await this.delays.schedule('payment.refund', { paymentId: id }, { after: 0, key: id, manager });
  }
}

/** `false`: this transaction has been written down before, perhaps just now by another request. */
async function writeDown(
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

async function repeated(
  manager: EntityManager,
  { provider, transaction }: PaymentReport,
): Promise<PaymentReceipt> {
  const first = await manager.findOneByOrFail(Payment, { provider, transaction });
  return { paymentId: first.id, status: first.status, repeated: true };
}

async function whyNotKept(
  manager: EntityManager,
  { orderId, amount }: PaymentReport,
): Promise<string> {
  const order = await manager.findOneBy(Order, { id: orderId });
  if (!order) return 'no such order';
  if (order.status === 'CLOSED') return 'the order was closed';
  if (order.status !== 'UNPAID') return 'the order was paid already';
  return `paid ${amount} instead of ${order.total}`;
}
