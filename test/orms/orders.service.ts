import { Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { fromPrisma } from 'nestjs-delay-queue/adapters';
import { PrismaService } from './prisma.service.js';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'order.close': { orderId: number };
  }
}

@Injectable()
export class OrdersService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly delays: DelayService,
  ) {}

  async place(id: number): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      await tx.purchases.create({ data: { id } });
      await this.delays.schedule(
        'order.close',
        { orderId: id },
        { after: '30m', key: String(id), tx: fromPrisma(tx) },
      );
    });
  }

  /** @returns whether the order was paid before its close began */
  async pay(id: number): Promise<boolean> {
    return await this.prisma.$transaction(async (tx) => {
      const { count } = await tx.purchases.updateMany({
        where: { id, status: 'UNPAID' },
        data: { status: 'PAID' },
      });
      await this.delays.cancel('order.close', String(id), { tx: fromPrisma(tx) });
      return count === 1;
    });
  }
}
