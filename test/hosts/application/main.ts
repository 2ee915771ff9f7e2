import 'reflect-metadata';
import { createServer } from 'node:http';
import { trace } from '@opentelemetry/api';
import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Module,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Delay,
  delayCallOf,
  DelayQueueModule,
  delayQueueMigrations,
  DelayService,
  OnDelay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { DataSource, type EntityManager } from 'typeorm';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'order.close': { holdMs: number };
    'order.mail': null;
  }
}

/** What an agent takes for a client of ours: it says where the trace of this request is. */
const traceId = (): string => trace.getActiveSpan()?.spanContext().traceId ?? 'none';

const note = (by: Pick<EntityManager, 'query'>, id: string, what: string): Promise<unknown> =>
  by.query('INSERT INTO note (id, what, trace) VALUES ($1, $2, $3)', [id, what, traceId()]);

/** Refuses delays of orders that were never placed. */
@Injectable()
class KnownOrder implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { manager, delays } = delayCallOf(context)!;
    const [order] = await manager!.query('SELECT FROM orders WHERE id = $1', [delays[0].key]);
    return order !== undefined;
  }
}

@Injectable()
class Orders {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  async place(id: string, afterMs: number, holdMs: number): Promise<unknown> {
    return this.dataSource.transaction(async (manager) => {
      await manager.query('INSERT INTO orders (id, status) VALUES ($1, $2)', [id, 'UNPAID']);
      await note(manager, id, 'placed');
      await this.delays.schedule('order.mail', null, { after: '200ms', key: id, manager });
      return this.delays.schedule('order.close', { holdMs }, { after: afterMs, key: id, manager });
    });
  }

  /** A close that no order belongs to. */
  forge(id: string): Promise<unknown> {
    return this.delays.schedule(
      'order.close',
      { holdMs: 0 },
      { after: 0, key: id, maxAttempts: 1 },
    );
  }

  async pay(id: string): Promise<unknown> {
    return this.dataSource.transaction(async (manager) => {
      const { verdict } = await this.delays.cancel('order.close', id, { manager });
      const [, paid] = await manager.query(
        "UPDATE orders SET status = 'PAID' WHERE id = $1 AND status = 'UNPAID'",
        [id],
      );
      return { verdict, paid };
    });
  }

  @UseGuards(KnownOrder)
  @OnDelay('order.close', { transactional: true, timeout: '4s' })
  async close(
    { key, payload }: Delay<'order.close'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    await manager.query("UPDATE orders SET status = 'CLOSED' WHERE id = $1 AND status = 'UNPAID'", [
      key,
    ]);
    await note(manager, key!, 'closed');
    await new Promise((resolve) => setTimeout(resolve, payload.holdMs));
    // A call that was not awaited must write nothing: the attempt is over by then.
    setTimeout(() => void note(manager, key!, 'late').catch(() => {}), 300);
  }

  @OnDelay('order.mail', { timeout: '4s' })
  async mail({ key, attempt }: Delay<'order.mail'>): Promise<void> {
    if (attempt === 1 && key!.endsWith('7')) throw new Error('the first mail is not sent');
    await note(this.dataSource.manager, key!, 'mailed');
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env['DATABASE_URL'],
      migrations: delayQueueMigrations(),
      migrationsRun: true,
    }),
    DelayQueueModule.forRoot({
      enhancers: 'own',
      telemetry: openTelemetry(),
      lease: '5s',
      loadEvery: '1s',
      horizon: '5s',
      concurrency: 4,
      backoff: { base: '200ms' },
    }),
  ],
  providers: [Orders],
})
class ApplicationModule {}

type Seen = () => Record<string, number>;

async function serve(): Promise<void> {
  const app = await NestFactory.createApplicationContext(ApplicationModule, {
    logger: ['error', 'warn'],
  });
  // By name: Deno refuses some of the signals that Nest would listen to otherwise.
  app.enableShutdownHooks(['SIGTERM', 'SIGINT']);
  const orders = app.get(Orders);
  const calls: Record<string, (id: string, ...given: [number, number]) => unknown> = {
    place: (id, ...given) => orders.place(id, ...given),
    forge: (id) => orders.forge(id),
    pay: (id) => orders.pay(id),
    seen: () => (globalThis as { seen?: Seen }).seen?.() ?? {},
  };
  const server = createServer((request, response) => {
    const [, call = '', id = '', afterMs, holdMs] = (request.url ?? '').split('/');
    Promise.resolve(calls[call]?.(id, Number(afterMs), Number(holdMs))).then(
      (answer) => response.end(JSON.stringify(answer)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as { port: number };
    console.log(`listens on ${port}`);
  });
  process.once('SIGTERM', () => {
    server.close();
    server.closeAllConnections();
  });
}

serve().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
