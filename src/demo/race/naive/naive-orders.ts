import { Inject, Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { offerOf, takeStock } from '../../../shop/catalog/stock.js';
import { Sku } from '../../../shop/catalog/sku.entity.js';
import { Order } from '../../../shop/orders/order.entity.js';
import type { PlacedOrder, PlaceOrderRequest } from '../../../shop/orders/orders.schemas.js';
import { Payment } from '../../../shop/payments/payment.entity.js';
import type { PaymentReceipt, PaymentReport } from '../../../shop/payments/payments.schemas.js';
import { SampleRefund } from '../../../shop/payments/sample-provider.entities.js';
import type { ProcessOrder } from '../protocol.js';

export const NAIVE_ORDER = Symbol('NAIVE_ORDER');
/** Called for each order that this process has closed. */
export const CLOSED = Symbol('CLOSED');

const HOUR_MS = 3_600_000;

/**
 * Orders as many shops write them. What belongs together is one transaction, stock is taken by a
 * guarded update, and a late payment is refunded. Only the two faults to show are left: the state
 * is read by one statement and written by another, and the time to pay is kept in memory.
 */
@Injectable()
export class NaiveOrders {
  readonly #logger = new Logger(NaiveOrders.name);

  constructor(
    private readonly dataSource: DataSource,
    @Inject(NAIVE_ORDER) private readonly settings: ProcessOrder,
    @Inject(CLOSED) private readonly closed: (orderId: string) => void,
  ) {}

  async place({ items }: PlaceOrderRequest): Promise<PlacedOrder> {
    const id = randomUUID();
    const payDeadline = new Date(Date.now() + this.settings.payWithinMs);
    const total = await this.dataSource.transaction(async (manager) => {
      const { merchant, lines } = await offerOf(manager, items);
      const sum = lines.reduce((so, { price, quantity }) => so + price * quantity, 0);
      await manager.insert(Order, {
        id,
        status: 'UNPAID',
        total: sum,
        payDeadline,
        merchantId: merchant.id,
        confirmAfterMs: HOUR_MS,
        rateAfterMs: HOUR_MS,
      });
      await takeStock(manager, id, lines);
      return sum;
    });
    if (this.settings.closer === 'naive') {
      const close = (): void => void this.close(id).catch((e: unknown) => this.#logger.error(e));
      setTimeout(close, payDeadline.getTime() - Date.now());
    }
    const now = new Date().toISOString();
    return { id, status: 'UNPAID', total, payDeadline: payDeadline.toISOString(), serverNow: now };
  }

  /** Reads whether the order is unpaid, then writes. */
  async close(id: string): Promise<void> {
    const order = await this.dataSource.manager.findOneOrFail(Order, {
      where: { id },
      relations: { items: true },
    });
    if (order.status === 'UNPAID') await this.write(order);
  }

  /** Closes an order that was read as unpaid. */
  async write({ id, items }: Order): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await manager.update(
        Order,
        { id },
        {
          status: 'CLOSED',
          closeReason: 'not paid in time',
          closedAt: () => 'clock_timestamp()',
        },
      );
      for (const { sku, quantity } of items) {
        await manager.increment(Sku, { sku }, 'stock', quantity);
      }
    });
    this.closed(id);
  }

  /** Reads whether the order is unpaid, then writes. */
  pay(report: PaymentReport): Promise<PaymentReceipt> {
    const { provider, transaction, orderId, amount } = report;
    return this.dataSource.transaction(async (manager) => {
      const first = await manager.findOneBy(Payment, { provider, transaction });
      if (first) return { paymentId: first.id, status: first.status, repeated: true };

      const paymentId = randomUUID();
      const order = await manager.findOneBy(Order, { id: orderId });
      if (order?.status === 'UNPAID') {
        await manager.insert(Payment, { ...report, id: paymentId, status: 'CAPTURED' });
        await manager.update(
          Order,
          { id: orderId },
          { status: 'PAID', paidAt: () => 'clock_timestamp()' },
        );
        return { paymentId, status: 'CAPTURED', repeated: false };
      }
      await manager.insert(Payment, {
        ...report,
        id: paymentId,
        status: 'REFUNDED',
        refundReason: 'the order was closed',
        refundedAt: () => 'clock_timestamp()',
      });
      await manager.insert(SampleRefund, { paymentId, amount });
      return { paymentId, status: 'REFUNDED', repeated: false };
    });
  }
}
