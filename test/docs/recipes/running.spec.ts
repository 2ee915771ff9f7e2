import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type INestApplication,
  type INestApplicationContext,
  Logger,
  type Type,
} from '@nestjs/common';
import { OnDelay } from 'nestjs-delay-queue';
import type { DataSource, EntityManager } from 'typeorm';
import { resolveOptions } from '../../../src/delay-queue/options/resolve-options.js';
import { until } from '../../support/until.js';
import { PgBouncer } from '../../servers/support/pgbouncer.js';
import { sayNotRun } from '../../servers/support/programs.js';
import { codeBlocks, readDocument } from '../documents.js';
import { Recipe } from './recipe.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

let recipe: Recipe | undefined;
const opened: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
  await recipe?.close();
  recipe = undefined;
});

/** Serves `order.close` and does nothing. */
class CloseHandler {
  @OnDelay('order.close')
  close(): void {}
}

describe('recurring-work.md', () => {
  it('declares a row for each region, which waits for the next night when it has run', async () => {
    recipe = await Recipe.open('recurring-work.md');
    await recipe.sql('CREATE TABLE report (region text, day timestamptz)');
    const { DailyReport } = await recipe.load<{ DailyReport: Type }>('daily-report.ts');
    const app = await recipe.start([DailyReport]);
    const night = (await app.find('report.daily', 'eu'))?.dueAt;
    expect(await app.find('report.daily', 'us')).toMatchObject({
      dueAt: night,
      repeat: { cron: '0 3 * * *', timeZone: 'Europe/Berlin', catchUp: 'latest' },
    });
    await app.fire('report.daily', 'eu');
    const [first] = await app.history('report.daily', 'eu');
    const next = await app.find('report.daily', 'eu');
    expect(first).toMatchObject({ state: 'completed', attempts: 1 });
    expect(next).toMatchObject({ id: first?.id, state: 'scheduled', attempts: 0, dueAt: night });
    expect(await recipe.sql('SELECT region, day FROM report')).toEqual([
      { region: 'eu', day: first?.dueAt },
    ]);
  });

  it('each customer has a report of its own, until it goes', async () => {
    recipe = await Recipe.open('recurring-work.md');
    await recipe.sql('CREATE TABLE subscription (customer text)');
    await recipe.sql('CREATE TABLE customer_report (customer text, day timestamptz)');
    const { CustomerReports } = await recipe.load<{ CustomerReports: Type }>('reports.ts');
    const app = await recipe.start([CustomerReports]);
    const reports = app.get(CustomerReports) as {
      subscribe(customer: string, repeat: object): Promise<Date>;
      unsubscribe(customer: string): Promise<void>;
    };
    const repeat = { cron: '0 3 * * *', timeZone: 'Asia/Tokyo' };
    const night = await reports.subscribe('7', repeat);
    expect(night.toISOString()).toMatch(/T18:00:00.000Z$/);
    expect(await app.find('report.customer', '7')).toMatchObject({
      dueAt: night,
      repeat: { ...repeat, catchUp: 'latest' },
    });
    await app.fire('report.customer', '7');
    expect(await app.find('report.customer', '7')).toMatchObject({ dueAt: night });
    expect(await recipe.sql('SELECT customer FROM customer_report')).toEqual([{ customer: '7' }]);
    await reports.unsubscribe('7');
    expect(await app.find('report.customer', '7')).toBeNull();
  });

  it('a handler that schedules its own key waits for the next month as the same row', async () => {
    recipe = await Recipe.open('recurring-work.md');
    await recipe.sql('CREATE TABLE charge (customer text)');
    const { Renewal } = await recipe.load<{ Renewal: Type }>('renewal.ts');
    const app = await recipe.start([Renewal]);
    await app.scheduleNow('subscription.renew', ['7'], (customer) => ({ customer }));
    await app.ended('subscription.renew', ['7']);
    const [first] = await app.history('subscription.renew', '7');
    const next = await app.find('subscription.renew', '7');
    expect(first).toMatchObject({ state: 'superseded', attempts: 1 });
    expect(next).toMatchObject({ id: first?.id, state: 'scheduled', attempts: 0 });
    expect(Number(next?.dueAt) - Number(first?.dueAt)).toBe(30 * DAY_MS);
    expect(await recipe.sql('SELECT customer FROM charge')).toEqual([{ customer: '7' }]);
  });
});

const writeDown = (
  { payload }: { payload: { orderId: string } },
  { manager }: { manager: EntityManager },
): Promise<void> => manager.query('INSERT INTO closed VALUES ($1)', [payload.orderId]);

describe('testing-a-handler.md', () => {
  it('calls the method in a transaction', async () => {
    recipe = await Recipe.open('testing-a-handler.md');
    await recipe.sql('CREATE TABLE closed (order_id text)');
    const { closeNow } = await recipe.load<{
      closeNow: (handler: object, dataSource: DataSource, orderId: string) => Promise<void>;
    }>('handler-call.ts');
    await closeNow({ close: writeDown }, recipe.dataSource, 'a');
    expect(await recipe.sql('SELECT * FROM closed')).toEqual([{ order_id: 'a' }]);
  });
});

describe('kubernetes.md', () => {
  it('is ready when it works, and not from the signal on; alive in between', async () => {
    recipe = await Recipe.open('kubernetes.md');
    process.env['DATABASE_URL'] = recipe.database.url;
    Logger.overrideLogger(false);
    const { start } = await recipe.load<{ start: (port: number) => Promise<INestApplication> }>(
      'main.ts',
    );
    const { DelayHealth } = await recipe.load<{
      DelayHealth: Type<{ isReady: boolean; onModuleDestroy(): void }>;
    }>('delay-health.ts');
    const app = await start(0);
    opened.push(() => app.close());
    const url = await app.getUrl();
    const health = app.get(DelayHealth);
    for (const path of ['live', 'ready']) {
      const answer = await fetch(`${url}/health/${path}`);
      expect([answer.status, await answer.json()]).toEqual([200, { [path]: true }]);
    }
    health.onModuleDestroy();
    expect((await fetch(`${url}/health/ready`)).status).toBe(503);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
  });

  it('gives as much grace as the sum says', () => {
    const page = readDocument('docs/recipes/kubernetes.md');
    const [yaml] = codeBlocks(page, 'yaml');
    const seconds = (pattern: RegExp, text = yaml?.code): number =>
      Number(pattern.exec(text ?? '')?.[1]);
    const grace = seconds(/terminationGracePeriodSeconds: (\d+)/);
    const preStop = seconds(/preStop: \{ sleep: \{ seconds: (\d+)/);
    const drain = seconds(/drainTimeout: '(\d+)s'/, page.text);
    expect(grace - preStop - drain).toBeGreaterThanOrEqual(10);
    expect(drain * 1_000).toBe(resolveOptions({}).drainTimeoutMs);
    const { connections } = resolveOptions({});
    const pool = seconds(/max: (\d+)/, page.text);
    expect(page.text).toContain(`pool + ${2 * connections + 1}`);
    expect(page.text).toContain(`are ${4 * (pool + 2 * connections + 1)}`);
  });
});

describe('pgbouncer.md', () => {
  const isInstalled = PgBouncer.program() !== undefined;
  if (!isInstalled) {
    sayNotRun(
      'pgbouncer.md behind PgBouncer',
      'There is no pgbouncer here: straight at the server.',
    );
  }

  it(`a delay of that module fires ${isInstalled ? 'behind PgBouncer' : 'straight at Postgres, which stands in for PgBouncer'}`, async () => {
    recipe = await Recipe.open('pgbouncer.md');
    const { url } = recipe.database;
    process.env['DATABASE_URL'] = url;
    if (isInstalled) {
      const bouncer = await PgBouncer.start({ serverUrl: url, poolSize: 10 });
      opened.push(() => bouncer.stop());
      process.env['DATABASE_URL'] = bouncer.url;
    }
    const { AppModule } = await recipe.load<{ AppModule: Type }>('app.module.ts');
    class WithHandler {}
    const app = await recipe.startModule({
      module: WithHandler,
      imports: [AppModule],
      providers: [CloseHandler],
    });
    opened.push(() => app.stop());
    const fired = app.next('completed', 'order.close', 'a');
    await app.delays.schedule('order.close', { orderId: 'a' }, { after: 100, key: 'a' });
    expect((await fired).latenessMs).toBeGreaterThanOrEqual(0);
  });
});

describe('serverless-producers.md', () => {
  it('schedules from a container that stays warm, and a worker elsewhere fires', async () => {
    recipe = await Recipe.open('serverless-producers.md');
    process.env['DATABASE_URL'] = recipe.database.url;
    Logger.overrideLogger(false);
    const { application, place } = await recipe.load<{
      application: () => Promise<INestApplicationContext>;
      place: (event: { orderId: string }) => Promise<{ payBefore: string }>;
    }>('function.ts');
    const { payBefore } = await place({ orderId: 'a' });
    await place({ orderId: 'b' });
    const container = await application();
    opened.push(() => container.close());
    const worker = await recipe.start([CloseHandler]);
    expect((await worker.find('order.close', 'a'))?.dueAt.toISOString()).toBe(payBefore);
    expect(await recipe.sql('SELECT id FROM orders ORDER BY id')).toEqual([
      { id: 'a' },
      { id: 'b' },
    ]);
    await worker.fire('order.close', 'a');
    // The name is the worker's alone.
    const nodes = await until(
      () => recipe!.sql<{ names: string[] }>('SELECT names FROM delay_queue.node'),
      (rows) => rows.length > 0,
    );
    expect(nodes).toEqual([{ names: ['order.close'] }]);
  });
});
