import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { paymentView } from '../payments/payment-view.js';
import { headOf } from './order-head.js';
import { type LiveDelay, type Picture, takePicture } from './order-picture.js';
import { unknownOrder } from './order.moves.js';
import { timelineOf } from './order-timeline.js';
import type { DelayView, OrderView } from './orders.schemas.js';

@Injectable()
export class OrderViewService {
  constructor(private readonly dataSource: DataSource) {}

  /** @throws 404 for an unknown order */
  async show(id: string): Promise<OrderView> {
    const picture = await takePicture(this.dataSource.manager, id);
    if (!picture) throw unknownOrder(id);
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
