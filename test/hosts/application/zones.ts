import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Delay,
  DelayQueueModule,
  delayQueueMigrations,
  DelayService,
  OnDelay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';

/** A zone for whose winters the releases of tzdata have different rules. */
const VANCOUVER = { cron: '0 9 * * *', timeZone: 'America/Vancouver' } as const;
const FIRST = new Date('2027-11-20T17:00:00Z');
const KEYS = Array.from({ length: 8 }, (_, n) => `report-${n}`);

@Injectable()
class Reports {
  @OnDelay('report.daily', { transactional: true })
  async write(
    { key, dueAt }: Delay<'report.daily'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    const row = [key, dueAt, process.versions['tz']];
    await manager.query('INSERT INTO fired (key, due_at, tz) VALUES ($1, $2, $3)', row);
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
    DelayQueueModule.forRoot({ loadEvery: '1s', horizon: '5s' }),
  ],
  providers: [Reports],
})
class ApplicationModule {}

async function serve(): Promise<void> {
  const app = await NestFactory.createApplicationContext(ApplicationModule, {
    logger: ['error', 'warn'],
  });
  app.enableShutdownHooks(['SIGTERM']);
  const once = { onConflict: 'keep', at: FIRST } as const;
  const delays = KEYS.map((key) => ({ key, repeat: VANCOUVER, ...once }));
  for (const each of delays) await app.get(DelayService).schedule('report.daily', null, each);
  console.log('is ready');
}

serve().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
