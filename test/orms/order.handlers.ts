import { Injectable } from '@nestjs/common';
import { type Delay, OnDelay, type OwnTransactionDelayContext } from 'nestjs-delay-queue';
import { fromPrisma } from 'nestjs-delay-queue/adapters';
import { PrismaService } from './prisma.service.js';

@Injectable()
export class OrderHandlers {
  constructor(private readonly prisma: PrismaService) {}

  @OnDelay('order.close', { transactional: 'own' })
  async close(delay: Delay<'order.close'>, ctx: OwnTransactionDelayContext): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      await tx.purchases.updateMany({
        where: { id: delay.payload.orderId, status: 'UNPAID' },
        data: { status: 'CLOSED' },
      });
      await ctx.complete(fromPrisma(tx));
    });
  }
}
