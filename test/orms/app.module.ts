import { Module } from '@nestjs/common';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { OrdersService } from './orders.service.js';
import { PrismaService } from './prisma.service.js';

@Module({
  imports: [DelayQueueModule.forRoot({ connection: process.env['DATABASE_URL'] })],
  providers: [OrdersService, PrismaService],
})
export class AppModule {}
