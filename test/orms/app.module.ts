import { Module } from '@nestjs/common';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { OrderHandlers } from './order.handlers.js';
import { OrdersService } from './orders.service.js';
import { PrismaService } from './prisma.service.js';

@Module({
  imports: [DelayQueueModule.forRoot({ connection: process.env['DATABASE_URL'] })],
  providers: [OrderHandlers, OrdersService, PrismaService],
})
export class AppModule {}
