import { Inject, Injectable, UseGuards } from '@nestjs/common';
import {
  DelayService,
  OnDelay,
  type Delay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { KnownOrder } from './known-order';
import { Order } from './order.entity';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'order.close': { orderId: string };
  }
}

@Injectable()
export class OrderTimers {
  constructor(
    @Inject(DataSource) private readonly dataSource: DataSource,
    @Inject(DelayService) private readonly delays: DelayService,
  ) {}

  async place(id: string): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await manager.insert(Order, { id, status: 'UNPAID' });
      await this.delays.schedule(
        'order.close',
        { orderId: id },
        { after: '100ms', key: id, manager },
      );
    });
  }

  async statusOf(id: string): Promise<string | undefined> {
    const order = await this.dataSource.manager.findOneBy(Order, { id });
    return order?.status;
  }

  @UseGuards(KnownOrder)
  @OnDelay('order.close', { transactional: true })
  async close(
    { payload }: Delay<'order.close'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    await manager.update(Order, { id: payload.orderId, status: 'UNPAID' }, { status: 'CLOSED' });
  }
}
