/** A process whose handlers complete their delays in transactions of each library, and stand still around COMMIT. */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type Delay,
  DelayQueueModule,
  OnDelay,
  type OwnTransactionDelayContext,
} from 'nestjs-delay-queue';
import { ORMS } from './orms.js';

export interface Order {
  id: number;
  library: string;
  diesAt: string;
}

/** What the process sends when a handler stands where it is to die. */
export interface Stands {
  id: number;
  attempt: number;
}

const connection = process.env['DATABASE_URL'] ?? '';
const survives = process.env['SURVIVES'] === 'yes';
const libraries = Object.fromEntries(
  await Promise.all(
    Object.entries(ORMS).map(async ([name, open]) => [name, await open(connection)] as const),
  ),
);

@Injectable()
class Closes {
  @OnDelay('test.own', { transactional: 'own', timeout: '2s', concurrency: 30 })
  async close(delay: Delay<'test.own'>, ctx: OwnTransactionDelayContext): Promise<void> {
    const { id, library, diesAt } = delay.payload as unknown as Order;
    const stand = async (where: string): Promise<void> => {
      if (survives || where !== diesAt) return;
      process.send?.({ id, attempt: delay.attempt } satisfies Stands);
      await new Promise(() => {});
    };
    await libraries[library]!.transaction(async (its) => {
      await its.insert(id);
      await ctx.complete(its.tx);
      await stand('before COMMIT');
    });
    await stand('behind COMMIT');
  }
}

@Module({
  imports: [DelayQueueModule.forRoot({ connection, lease: '2s', backoff: { base: 1 } })],
  providers: [Closes],
})
class App {}

await NestFactory.createApplicationContext(App, { logger: ['error'] });
