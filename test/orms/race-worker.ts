/** A process of the race: closes orders in transactions of Prisma, each with its delay. */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type Delay,
  DelayQueueModule,
  OnDelay,
  type OwnTransactionDelayContext,
} from 'nestjs-delay-queue';
import { fromPrisma } from 'nestjs-delay-queue/adapters';
import { PrismaService } from './prisma.service.js';

@Injectable()
class Closes {
  constructor(private readonly prisma: PrismaService) {}

  @OnDelay('test.own', { transactional: 'own', timeout: '3s', concurrency: 8 })
  async close(delay: Delay<'test.own'>, ctx: OwnTransactionDelayContext): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      await tx.$executeRaw`UPDATE purchases SET status = 'CLOSED', closes = closes + 1
                           WHERE id = ${Number(delay.key)} AND status = 'UNPAID'`;
      await ctx.complete(fromPrisma(tx));
    });
  }
}

@Module({
  imports: [
    DelayQueueModule.forRoot({
      connection: process.env['DATABASE_URL'],
      lease: '2s',
      backoff: { base: 20 },
    }),
  ],
  providers: [Closes, PrismaService],
})
class App {}

await NestFactory.createApplicationContext(App, { logger: ['error'] });
process.send?.({ ready: true });
