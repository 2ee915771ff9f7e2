/** A process of the shop at night: the sample shop, handlers that ask a partner, and the metrics of the recipe. */
import 'reflect-metadata';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Delay,
  type DelayContext,
  DelayEvents,
  DelayHealth,
  DelayQueueModule,
  type HealthReport,
  OnDelay,
} from 'nestjs-delay-queue';
import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import { Client } from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import { DelayMetrics, MetricsController } from '../../docs/operations/delay-metrics.js';
import { databaseOptions } from '../../src/app.module.js';
import { configureHttp } from '../../src/shop/http/configure-http.js';
import { OneProcess } from '../../src/shop/processes/processes.js';
import { ShopModule } from '../../src/shop/shop.module.js';
import { HOST } from '../../src/embedded-postgres/free-port.js';
import type { ProcessMessage, ProcessOrder, ProcessSetup } from './process.protocol.js';

const setup = JSON.parse(process.env['AT_NIGHT'] ?? '{}') as ProcessSetup;
const HOUR_MS = 3_600_000;

let isDeaf = false;

/** A connection on which LISTEN fails while the process is deaf. */
class DeafClient extends Client {
  override query(...all: unknown[]): never {
    const [asked] = all as [string | { text: string }];
    const text = typeof asked === 'string' ? asked : asked.text;
    const query: (...given: unknown[]) => unknown = super.query.bind(this);
    return query(...(isDeaf && text.startsWith('LISTEN') ? ['LISTEN'] : all)) as never;
  }
}

/** Checks with the limits of this run, whatever it is called with. */
@Injectable()
class ImpatientHealth {
  constructor(private readonly health: DelayHealth) {}

  check(): Promise<HealthReport> {
    return this.health.check(setup.limits);
  }

  figures(): ReturnType<DelayHealth['figures']> {
    return this.health.figures();
  }
}

@Controller('health')
class HealthController {
  constructor(private readonly health: ImpatientHealth) {}

  @Get()
  check(): Promise<HealthReport> {
    return this.health.check();
  }
}

/** Each asks its own path of the partner. */
@Injectable()
class PartnerHandlers {
  /** Not two at a time in all processes. */
  @OnDelay('ledger.export', { global: { concurrency: 1 } })
  export({ name }: Delay<'ledger.export'>, { signal }: DelayContext): Promise<void> {
    return this.#ask(name, signal);
  }

  /** Groups are shippers. */
  @OnDelay('parcel.scan', { concurrency: 1 })
  scan({ name }: Delay<'parcel.scan'>, { signal }: DelayContext): Promise<void> {
    return this.#ask(name, signal);
  }

  @OnDelay('parcel.track')
  track({ name }: Delay<'parcel.track'>, { signal }: DelayContext): Promise<void> {
    return this.#ask(name, signal);
  }

  async #ask(path: string, signal: AbortSignal): Promise<void> {
    const answer = await fetch(`${setup.partnerUrl}/${path}`, { method: 'POST', signal });
    await answer.body?.cancel();
  }
}

const database = databaseOptions(setup.databaseUrl);
const shopConfig = {
  databaseUrl: setup.databaseUrl,
  payWithinMs: 4_000,
  remindBeforeMs: 2_000,
  smsAfterMs: 1_000,
  confirmAfterMs: HOUR_MS,
  rateAfterMs: HOUR_MS,
  messagesUrl: `${setup.partnerUrl}/message.send`,
  refundsUrl: `${setup.partnerUrl}/payment.refund`,
  webhookTimeoutMs: 24 * HOUR_MS,
};

class ThisProcess extends OneProcess {
  override readonly self = setup.nodeName;
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      ...database,
      retryAttempts: 1,
      extra: { ...database.extra, Client: DeafClient },
    }),
    ScheduleModule.forRoot(),
    // A partner that hangs is the fault; a timeout would end it.
    DelayQueueModule.forRoot({ nodeName: setup.nodeName, timeout: '1h', drainTimeout: '1s' }),
    DelayQueueDashboardModule.forRoot({ authorize: 'loopback', health: setup.limits }),
    ShopModule.forRoot(shopConfig, new ThisProcess()),
  ],
  controllers: [MetricsController, HealthController],
  providers: [
    PartnerHandlers,
    ImpatientHealth,
    {
      provide: DelayMetrics,
      useFactory: (events: DelayEvents, health: ImpatientHealth) =>
        new DelayMetrics(events, health as unknown as DelayHealth),
      inject: [DelayEvents, ImpatientHealth],
    },
  ],
})
class ShopAtNight {}

const tell = (message: ProcessMessage): void => void process.send?.(message);

const app = await NestFactory.create<NestExpressApplication>(ShopAtNight, {
  bodyParser: false,
  abortOnError: false,
  logger: ['error', 'warn'],
});
configureHttp(app);
app.enableShutdownHooks(['SIGTERM'], { useProcessExit: true });
await app.listen(setup.port, HOST);

const runners: QueryRunner[] = [];

async function obey({ does }: ProcessOrder): Promise<void> {
  if (does === 'deafen' || does === 'hear') isDeaf = does === 'deafen';
  if (does === 'free') for (const runner of runners.splice(0)) await runner.release();
  if (does === 'fill') {
    const { poolSize = 10 } = app.get(DataSource).options as { poolSize?: number };
    for (let taken = 0; taken < poolSize; taken += 1) {
      const runner = app.get(DataSource).createQueryRunner();
      await runner.connect();
      runners.push(runner);
    }
  }
  tell({ done: does });
}

process.on('message', (order: ProcessOrder) => void obey(order));
tell({ ready: true });
