/** A process of the application: it places orders, pays some of them, and closes those that were not paid in time. */
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Delay,
  DelayQueueModule,
  DelayService,
  OnDelay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import {
  CLOSES,
  type ProcessMessage,
  type ProcessOrder,
  type ProcessSetup,
  REMINDER,
  UNPAID_MS,
} from './process.protocol.js';
import { CLOSE, PAY } from './tables.js';

const setup = JSON.parse(process.env['PATRONI_PROCESS'] ?? '{}') as ProcessSetup;

/**
 * What `docs/operations.md` asks of an application behind a proxy that may close no session. The lifetime is shorter than there: so it
 * ends sessions within a scenario.
 */
const POOL = {
  max: 10,
  keepAlive: true,
  connectionTimeoutMillis: 5_000,
  query_timeout: 15_000,
  maxLifetimeSeconds: 30,
};

/** Of an order's life; some are paid when their closing is due. */
const PAID_SHARE = 0.4;
const PAID_WITHIN_MS = UNPAID_MS * 1.3;

@Injectable()
class Closing {
  constructor(private readonly dataSource: DataSource) {}

  @OnDelay(CLOSES[0], { transactional: true })
  async close(
    { key, dueAt }: Delay<'patroni.close'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    await manager.query(CLOSE, [key, CLOSES[0], dueAt]);
  }

  /** At least once: what it does twice changes nothing the second time. */
  @OnDelay(CLOSES[1], { transactional: false })
  async closePlainly({ key, dueAt }: Delay<'patroni.closePlainly'>): Promise<void> {
    await this.dataSource.query(CLOSE, [key, CLOSES[1], dueAt]);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: setup.url, extra: POOL, retryDelay: 1_000 }),
    DelayQueueModule.forRoot({
      nodeName: setup.nodeName,
      worker: setup.isWorker,
      maxAttempts: 100,
      backoff: { base: 50, max: '1s' },
    }),
  ],
  providers: setup.isWorker ? [Closing] : [],
})
class Application {}

for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

const tell = (message: ProcessMessage): void => void process.send?.(message);

/** By its code, or by the words of an error that has none. */
function failed(error: unknown): void {
  const { code, message } = error as { code?: string; message: string };
  tell({ failed: code ?? message.slice(0, 60) });
}

async function pay(
  app: INestApplicationContext,
  id: string,
  name: (typeof CLOSES)[number],
): Promise<void> {
  const delays = app.get(DelayService);
  const isPaid = await app.get(DataSource).transaction(async (manager) => {
    const rows: unknown[] = await manager.query(PAY, [id]);
    if (rows.length > 0) await delays.cancel(name, id, { manager });
    return rows.length > 0;
  });
  if (isPaid) tell({ paid: id });
}

async function place(app: INestApplicationContext, number: number): Promise<void> {
  const id = randomUUID();
  const name = CLOSES[number % 2 === 0 ? 0 : 1];
  await app.get(DataSource).transaction(async (manager) => {
    await manager.query('INSERT INTO orders (id) VALUES ($1)', [id]);
    await app.get(DelayService).schedule(name, null, { key: id, after: UNPAID_MS, manager });
  });
  tell({ placed: id, atMs: Date.now() });
  if (Math.random() >= PAID_SHARE) return;
  await pause(Math.random() * PAID_WITHIN_MS);
  await pay(app, id, name);
}

/** A call without a manager, as a rate that is looked at beside the orders. */
async function remind(app: INestApplicationContext): Promise<void> {
  const delays = app.get(DelayService);
  const key = randomUUID();
  await delays.schedule(REMINDER, null, { key, after: '1h' });
  await delays.cancel(REMINDER, key);
}

async function start(): Promise<void> {
  const app = await NestFactory.createApplicationContext(Application, {
    logger: ['error', 'warn', 'log'],
    abortOnError: false,
  });
  app.enableShutdownHooks(['SIGTERM'], { useProcessExit: true });
  await app.init();
  let number = 0;
  const begun = new Set<Promise<void>>();
  const begin = (work: Promise<void>): void => {
    const told = work.catch(failed).finally(() => begun.delete(told));
    begun.add(told);
  };
  const placing = setInterval(() => {
    number += 1;
    begin(place(app, number));
    if (number % 10 === 0) begin(remind(app));
  }, 1_000 / setup.ordersPerSecond);
  process.on('message', ({ stopPlacing }: ProcessOrder) => {
    if (!stopPlacing) return;
    clearInterval(placing);
    void Promise.all(begun).then(() => tell({ placesNoMore: true }));
  });
  process.once('SIGTERM', () => clearInterval(placing));
  tell({ ready: true });
}

try {
  await start();
} catch (error) {
  console.error(`cannot start: ${String(error)}`);
  process.exit(1);
}
