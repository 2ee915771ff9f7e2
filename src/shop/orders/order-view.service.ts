import { Injectable } from '@nestjs/common';
import { DelayService, type DelayInfo, type DelayRecord } from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import { ORDER_DELAYS } from '../delays.js';
import { Dispute, FrozenTimer } from '../disputes/dispute.entity.js';
import { OutboxMessage } from '../outbox/outbox-message.entity.js';
import { PaymentConflict } from '../payments/payment-conflict.entity.js';
import { paymentView } from '../payments/payment-view.js';
import { Payment } from '../payments/payment.entity.js';
import { Review } from '../reviews/review.entity.js';
import { serverNow } from '../shop.clock.js';
import { headOf } from './order-head.js';
import { Order } from './order.entity.js';
import { unknownOrder } from './order.moves.js';
import { type Past, timelineOf } from './order-timeline.js';
import type { DelayView, OrderView } from './orders.schemas.js';

/** An order with all that belongs to it, as of one instant. */
interface Picture extends Omit<Past, 'ended'> {
  frozen: FrozenTimer[];
  live: DelayInfo[];
  now: Date;
}

@Injectable()
export class OrderViewService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  /** @throws 404 for an unknown order */
  async show(id: string): Promise<OrderView> {
    // One snapshot: an order is never seen UNPAID beside a close that has already run.
    const picture = await this.dataSource.transaction('REPEATABLE READ', (manager) =>
      this.take(manager, id),
    );
    const { order, payments, review, live, now } = picture;
    return {
      ...headOf(order),
      dispute: disputeView(picture),
      items: order.items.map(({ sku, name, price, quantity }) => ({ sku, name, price, quantity })),
      payments: payments.map((payment) =>
        paymentView(
          payment,
          live.find(({ key }) => key === payment.id),
        ),
      ),
      review: review && { stars: review.stars, source: review.source },
      delays: live.map(delayView),
      timeline: timelineOf({ ...picture, ended: await this.ended(picture) }),
      serverNow: now.toISOString(),
    };
  }

  private async take(manager: EntityManager, id: string): Promise<Picture> {
    const order = await manager.findOne(Order, {
      where: { id },
      relations: { items: true },
      order: { items: { sku: 'ASC' } },
    });
    if (!order) throw unknownOrder(id);
    const payments = await manager.find(Payment, {
      where: { orderId: id },
      order: { capturedAt: 'ASC', id: 'ASC' },
    });
    const review = await manager.findOneBy(Review, { orderId: id });
    const messages = await manager.findBy(OutboxMessage, { orderId: id });
    const conflicts = await manager.find(PaymentConflict, {
      where: [{ orderId: id }, { payment: { orderId: id } }],
      relations: { payment: true },
    });
    const disputes = await manager.findBy(Dispute, { orderId: id });
    const frozen = await manager.find(FrozenTimer, {
      where: { orderId: id },
      order: { name: 'ASC' },
    });
    const live: DelayInfo[] = [];
    for (const [name, key] of delaysOf(id, payments)) {
      const delay = await this.delays.find(name, key, { manager });
      if (delay) live.push(delay);
    }
    return {
      order,
      payments,
      review,
      messages,
      conflicts,
      disputes,
      frozen,
      live,
      now: await serverNow(manager),
    };
  }

  private async ended({ order, payments }: Picture): Promise<DelayRecord[]> {
    const records: DelayRecord[] = [];
    for (const [name, key] of delaysOf(order.id, payments)) {
      records.push(...(await this.delays.history(name, key)));
    }
    return records;
  }
}

/** Every delay that an order can have: those of its own id, and a refund for each payment not kept. */
function delaysOf(id: string, payments: Payment[]) {
  const refunds = payments.filter(({ status }) => status !== 'CAPTURED');
  return [
    ...ORDER_DELAYS.map((name) => [name, id] as const),
    ...refunds.map((payment) => ['payment.refund', payment.id] as const),
  ];
}

function disputeView({ disputes, frozen }: Picture): OrderView['dispute'] {
  const open = disputes.find(({ releasedAt }) => releasedAt === null);
  return open
    ? {
        reason: open.reason,
        openedAt: open.openedAt.toISOString(),
        frozen: frozen.map(({ name, leftMs }) => ({ name, leftMs })),
      }
    : null;
}

const delayView = ({ name, state, dueAt, attempts }: DelayInfo): DelayView => ({
  name,
  state,
  dueAt: dueAt.toISOString(),
  attempts,
});
