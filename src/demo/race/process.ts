/** One process of the race: a shop with its own HTTP port and a worker. */
import 'reflect-metadata';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { configureHttp } from '../../shop/http/configure-http.js';
import type { Command, Message, ProcessOrder } from './protocol.js';

const tell = (message: Message): void => void process.send?.(message);

// Ctrl+C reaches the whole group: the race decides when this process ends, also by its own end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.once('disconnect', () => process.exit(1));

async function moduleOf(order: ProcessOrder): Promise<DynamicModule> {
  if (order.closer === 'delay-queue') {
    const { RaceShopModule } = await import('./race-shop.module.js');
    return RaceShopModule.forRoot(order);
  }
  const { NaiveShopModule } = await import('./naive/naive-shop.module.js');
  return NaiveShopModule.forRoot(order, (orderId) => tell({ type: 'closed', orderId }));
}

async function obey(app: NestExpressApplication, command: Command): Promise<void> {
  if (command.type === 'stop') {
    await app.close();
    process.exit(0);
  }
  const { OverdueScan } = await import('./naive/overdue-scan.js');
  app.get(OverdueScan).everyMinuteAt(command.atMsOfMinute);
}

function fail(error: unknown): void {
  tell({ type: 'failed', reason: error instanceof Error ? error.message : String(error) });
}

try {
  const order: ProcessOrder = JSON.parse(process.argv[2] ?? '{}');
  const app = await NestFactory.create<NestExpressApplication>(await moduleOf(order), {
    bodyParser: false,
    abortOnError: false,
    logger: ['fatal', 'error'],
  });
  configureHttp(app);
  process.on('message', (command: Command) => void obey(app, command).catch(fail));
  await app.listen(0, '127.0.0.1');
  tell({ type: 'listening', url: await app.getUrl() });
} catch (error) {
  fail(error);
}
