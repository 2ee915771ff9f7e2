import { Global, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DelayEvents,
  DelayQueueModule,
  DelayService,
  WHEEL_CAPACITY,
  WheelService,
} from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import type { Setup } from './program.js';

/** A running application, set up as somebody who never saw ours would do it. */
export interface ImpoliteNode {
  delays: DelayService;
  dataSource: DataSource;
  events: DelayEvents;
  /** One after the other: two that took their connections in turns would wait for each other for ever. */
  hogs: (hog: () => Promise<void>) => Promise<void>;
  stop: () => Promise<void>;
}

@Module({})
class ImpoliteModule {}

@Global()
@Module({})
class CapacityModule {}

/** Somebody else's timers, far in the future. */
const VOLATILE_AFTER = '1h';

export async function startImpoliteNode(
  url: string,
  setup: Setup,
  providers: Type[],
): Promise<ImpoliteNode> {
  const { volatileTimers } = setup;
  const capacity = { provide: WHEEL_CAPACITY, useValue: volatileTimers };
  const app = await NestFactory.createApplicationContext(
    {
      module: ImpoliteModule,
      imports: [
        TypeOrmModule.forRoot({
          type: 'postgres',
          ...addressOf(url, setup.way),
          extra: { max: setup.poolMax, connectionTimeoutMillis: setup.connectionTimeoutMs ?? 0 },
          retryAttempts: 0,
        }),
        DelayQueueModule.forRoot({
          concurrency: setup.concurrency,
          lease: setup.leaseMs,
          horizon: setup.horizonMs,
          loadEvery: setup.loadEveryMs,
        }),
        ...(volatileTimers === undefined
          ? []
          : [{ module: CapacityModule, providers: [capacity], exports: [capacity] }]),
      ],
      providers,
    },
    { logger: false, abortOnError: false },
  );
  await app.init();
  const wheel = app.get(WheelService);
  for (let left = volatileTimers ?? 0; left > 0; left -= 1) crowd(wheel);
  let lastHog = Promise.resolve();
  return {
    hogs: (hog) => (lastHog = lastHog.then(hog, hog)),
    delays: app.get(DelayService),
    dataSource: app.get(DataSource),
    events: app.get(DelayEvents),
    stop: () => app.close(),
  };
}

function crowd(wheel: WheelService): void {
  try {
    wheel.after(VOLATILE_AFTER, () => {});
  } catch {
    // It is full: that is what was wanted.
  }
}

function addressOf(url: string, way: Setup['way']): object {
  const { hostname, port, username, password, pathname } = new URL(url);
  const fields = { host: hostname, port: Number(port), username, database: pathname.slice(1) };
  const ways: Record<Setup['way'], object> = {
    url: { url },
    fields: { ...fields, password },
    'password function': { ...fields, password: async () => password },
    replication: { replication: { master: { ...fields, password }, slaves: [] } },
  };
  return ways[way];
}
