import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type TransactionalDelayBatchContext } from 'nestjs-delay-queue';
import { Outbox } from '../outbox/outbox.js';

/** Messages that a timer triggers; the outbox checks whether each still makes sense. */
@Injectable()
export class TellBuyerHandler {
  constructor(private readonly outbox: Outbox) {}

  @OnDelay('order.remind', { transactional: true, batch: 200 })
  remind(
    delays: Delay<'order.remind'>[],
    { manager }: TransactionalDelayBatchContext,
  ): Promise<void> {
    return this.outbox.post(manager, 'order.reminder', delays.map(orderIdOf));
  }

  @OnDelay('order.sms', { transactional: true, batch: 200 })
  thank(delays: Delay<'order.sms'>[], { manager }: TransactionalDelayBatchContext): Promise<void> {
    return this.outbox.post(manager, 'order.placed', delays.map(orderIdOf));
  }
}

const orderIdOf = ({ payload }: Delay<'order.remind' | 'order.sms'>): string => payload.orderId;
