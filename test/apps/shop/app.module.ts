import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DelayQueueModule, delayQueueMigrations } from 'nestjs-delay-queue';
import { Order } from './order.entity';
import { OrderTimers } from './order-timers';

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      entities: [Order],
      synchronize: true,
      migrations: delayQueueMigrations(),
      migrationsRun: true,
    }),
    DelayQueueModule.forRoot({ enhancers: 'own' }),
  ],
  providers: [OrderTimers],
})
export class AppModule {}
