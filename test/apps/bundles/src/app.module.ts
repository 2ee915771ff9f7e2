import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DelayQueueModule, delayQueueMigrations } from 'nestjs-delay-queue';
import * as pg from 'pg';
import { Order } from './order.entity';
import { OrderTimers } from './order-timers';

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      // TypeORM would look for it in node_modules.
      driver: pg,
      url: process.env.DATABASE_URL,
      entities: [Order],
      synchronize: true,
      migrations: delayQueueMigrations(),
      migrationsRun: true,
    }),
    DelayQueueModule.forRoot(),
  ],
  providers: [OrderTimers],
})
export class AppModule {}
