import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Dispute, FrozenTimer } from '../disputes/dispute.entity.js';
import { OutboxMessage } from '../outbox/outbox-message.entity.js';
import { PaymentConflict } from '../payments/payment-conflict.entity.js';
import { paymentView } from '../payments/payment-view.js';
import { Payment } from '../payments/payment.entity.js';
import { Review } from '../reviews/review.entity.js';
import { serverNow } from '../shop.clock.js';
import { endedDelays, liveDelays, type LiveDelay } from './order-delays.js';
import { headOf } from './order-head.js';
import { Order } from './order.entity.js';
import { unknownOrder } from './order.moves.js';
import { type Past, timelineOf } from './order-timeline.js';
import type { DelayView, OrderView } from './orders.schemas.js';

/** An order with all that belongs to it, as of one instant. */
interface Picture extends Past {
  frozen: FrozenTimer[];
  live: LiveDelay[];
  now: Date;
}

@Injectable()
export class OrderViewService {
  constructor(private readonly dataSource: DataSource) {}

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
      timeline: timelineOf(picture),
      serverNow: now.toISOString(),
    };
  }

  private async take(manager: EntityManager, id: string): Promise<Picture> {
    // Not `findOne`, which would look for the order first and then for its lines.
    const [order] = await manager.find(Order, {
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
    return {
      order,
      payments,
      review,
      messages,
      conflicts,
      disputes,
      frozen,
      live: await liveDelays(manager, id, payments),
      ended: await endedDelays(manager, id, payments),
      now: await serverNow(manager),
    };
  }
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

const delayView = ({ name, state, dueAt, attempts }: LiveDelay): DelayView => ({
  name,
  state,
  dueAt: dueAt.toISOString(),
  attempts,
});
