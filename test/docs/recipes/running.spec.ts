import { expect, it } from '@jest/globals';
import { type INestApplication, Logger } from '@nestjs/common';
import { DelayAdmin, DelayWorker, OnDelay } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { PgBouncer } from '../../servers/support/pgbouncer.js';
import { sayNotRun } from '../../servers/support/programs.js';
import { until } from '../../support/until.js';
import { codeBlocks, readDocument } from '../documents.js';
import { openPage, recipe } from '../page.js';
import { Engine } from '../../support/engine-parts.js';
import { resolveOptions } from '../../support/option-checks.js';

/** Serves `order.close` and does nothing. */
class Closing {
  @OnDelay('order.close')
  close(): void {}
}

it('recurring-work.md: a row for each region and customer waits for its next night as the same row', async () => {
  const [page, { DailyReport, CustomerReports }] = await recipe('recurring-work.md');
  await page.sql(
    `CREATE TABLE report (region text, day timestamptz);
   CREATE TABLE subscription (customer text);
   CREATE TABLE customer_report (customer text, day timestamptz)`,
  );
  const app = await page.start([DailyReport, CustomerReports]);
  const night = (await app.find('report.daily', 'eu'))?.dueAt;
  expect(await app.find('report.daily', 'us')).toMatchObject({
    dueAt: night,
    repeat: { cron: '0 3 * * *', timeZone: 'Europe/Berlin', catchUp: 'latest' },
  });
  await app.fire('report.daily', 'eu');
  const [eu] = await app.history('report.daily', 'eu');
  const nextNight = { id: eu?.id, state: 'scheduled', attempts: 0, dueAt: night };
  expect(await app.find('report.daily', 'eu')).toMatchObject(nextNight);
  expect(await page.sql('SELECT * FROM report')).toEqual([{ region: 'eu', day: eu?.dueAt }]);

  const reports = app.get(CustomerReports);
  const repeat = { cron: '0 3 * * *', timeZone: 'Asia/Tokyo' };
  const dueAt: Date = await reports.subscribe('7', repeat);
  expect(dueAt.toISOString()).toMatch(/T18:00:00.000Z$/);
  await app.fire('report.customer', '7');
  const nextDay = { dueAt, repeat: { ...repeat, catchUp: 'latest' } };
  expect(await app.find('report.customer', '7')).toMatchObject(nextDay);
  expect(await page.sql('SELECT customer FROM customer_report')).toEqual([{ customer: '7' }]);
  await reports.unsubscribe('7');
  expect(await app.find('report.customer', '7')).toBeNull();
});

it('debounce.md: waits for quiet, and not longer than it may', async () => {
  const [page, { SearchIndex }] = await recipe('debounce.md');
  const app = await page.start([SearchIndex]);
  const change = (): Promise<Date> =>
    app.get(DataSource).transaction((manager) => app.get(SearchIndex).changed('p1', manager));
  const first = await change();
  // Two changes may fall into one millisecond.
  await until(change, (at) => Number(at) > Number(first));
  await page.sql(`UPDATE delay_queue.delay SET created_at = created_at - interval '290 seconds'`);
  const before = await app.find('product.index', 'p1');
  // An instant has fractions of a millisecond, which a Date drops and a due time rounds up.
  const waitsMs = Number(await change()) - Number(before?.createdAt);
  expect([300_000, 300_001]).toContain(waitsMs);
  await app.fire('product.index', 'p1');
  expect(await app.find('product.index', 'p1')).toBeNull();
});

it('groups-limits-and-pauses.md: sends to each shop one at a time, but not to one that is paused', async () => {
  const [page, code] = await recipe('groups-limits-and-pauses.md');
  const { Receipts, Messages, Support, Tenants, Provider } = code;
  const sent: string[] = [];
  const running = new Set<string>();
  const send = async (shopId: string): Promise<void> => {
    if (running.has(shopId)) sent.push(`${shopId} beside itself`);
    running.add(shopId);
    await new Promise(setImmediate);
    running.delete(shopId);
    sent.push(shopId);
  };
  const provider = { provide: Provider, useValue: { send } };
  const app = await page.start([Receipts, Messages, Support, Tenants, provider]);
  const [support, tenants] = [app.get(Support), app.get(Tenants)];
  await support.shopIsClosed('shop-7');
  await support.providerIsDown();
  for (const shop of ['shop-7', 'shop-8', 'shop-9', 'shop-8', 'shop-9', 'shop-8']) {
    await app.get(Receipts).paid(shop, '1');
  }
  const admin = app.get(DelayAdmin);
  expect(await admin.runNow({ name: 'message.send' })).toMatchObject({ due: 6 });
  expect((await admin.stats()).pauses).toHaveLength(2);
  const late = await until<{ group: string; overdue: number; paused: boolean }[]>(
    () => tenants.late(),
    (groups) => groups.every(({ overdue }) => overdue > 0),
  );
  expect(late.map(({ group, overdue, paused }) => [group, overdue, paused])).toEqual([
    ['shop-8', 3, true],
    ['shop-9', 2, true],
    ['shop-7', 1, true],
  ]);
  expect(await tenants.hurt()).toEqual([]);
  expect(sent).toEqual([]);
  expect(await support.providerIsBack()).toMatchObject({ reason: 'the provider is down' });
  await until(
    () => sent.length,
    (length) => length === 5,
  );
  expect(new Set(sent)).toEqual(new Set(['shop-8', 'shop-9']));
  expect(await admin.count({ group: 'shop-7' })).toBe(1);
});

it('deploy.md: is ready when it works, and not from the signal on; alive in between', async () => {
  const [, { start }] = await recipe('deploy.md');
  Logger.overrideLogger(false);
  const app: INestApplication = await start(0);
  try {
    const asked = async (path: string): Promise<[number, unknown]> => {
      const answer = await fetch(`${await app.getUrl()}/health/${path}`);
      return [answer.status, await answer.json()];
    };
    const up = { status: 'up', reasons: [] };
    expect(await asked('live')).toEqual([200, up]);
    expect(await asked('ready')).toEqual([200, up]);
    await app.get(Engine).close();
    expect(await asked('ready')).toMatchObject([503, { reasons: [{ state: 'closing' }] }]);
    expect(await asked('live')).toEqual([200, up]);
  } finally {
    await app.close();
  }
});

it('deploy.md: gives as much grace as the sum says', () => {
  const page = readDocument('docs/recipes/deploy.md');
  const [yaml] = codeBlocks(page, 'yaml');
  const figure = (pattern: RegExp, text = yaml?.code): number =>
    Number(pattern.exec(text ?? '')?.[1]);
  const grace = figure(/terminationGracePeriodSeconds: (\d+)/);
  const preStop = figure(/preStop: \{ sleep: \{ seconds: (\d+)/);
  const drain = figure(/drainTimeout: '(\d+)s'/, page.text);
  expect(grace - preStop - drain).toBeGreaterThanOrEqual(10);
  const { connections, drainTimeoutMs } = resolveOptions({});
  expect(drain * 1_000).toBe(drainTimeoutMs);
  const pool = figure(/max: (\d+)/, page.text);
  expect(page.text).toContain(`pool + \`transactionalConnections\` + ${2 * connections + 1}`);
  expect(page.text).toContain(`are ${4 * (2 * pool + 2 * connections + 1)}`);
});

const isInstalled = PgBouncer.program() !== undefined;
if (!isInstalled) {
  sayNotRun('deploy.md behind PgBouncer', 'There is no pgbouncer here: straight at the server.');
}

it(`deploy.md: a delay of that module fires ${isInstalled ? 'behind PgBouncer' : 'straight at Postgres'}`, async () => {
  const page = await openPage('docs/recipes/deploy.md', 'migrated');
  const { url } = page.database;
  const bouncer = isInstalled ? await PgBouncer.start({ serverUrl: url, poolSize: 10 }) : undefined;
  try {
    process.env.DATABASE_URL = bouncer?.url ?? url;
    const { AppModule } = await page.load('main.ts');
    const app = await page.run({ module: class {}, imports: [AppModule], providers: [Closing] });
    const fired = app.next('completed', 'order.close', 'a');
    await app.delays.schedule('order.close', { orderId: 'a' }, { after: 100, key: 'a' });
    expect((await fired)['latenessMs']).toBeGreaterThanOrEqual(0);
    await app.stop();
  } finally {
    await bouncer?.stop();
  }
});

it('serverless-producers.md: schedules from a container that stays warm, and a worker elsewhere fires', async () => {
  const [page, { application, place }] = await recipe('serverless-producers.md');
  Logger.overrideLogger(false);
  const { payBefore } = await place({ orderId: 'a' });
  await place({ orderId: 'b' });
  const worker = await page.start([Closing]);
  expect((await worker.find('order.close', 'a'))?.dueAt.toISOString()).toBe(payBefore);
  expect(await page.sql('SELECT id FROM orders ORDER BY id')).toEqual([{ id: 'a' }, { id: 'b' }]);
  await worker.fire('order.close', 'a');
  // The name is the worker's alone.
  const nodes = await until(
    () => page.sql('SELECT names FROM delay_queue.node'),
    ({ length }) => length > 0,
  );
  expect(nodes).toEqual([{ names: ['order.close'] }]);
  await (await application()).close();
});

it('deploy.md: runs after the election, and no more when another one is elected', async () => {
  const [page, { Leader }] = await recipe('deploy.md');
  const app = await page.start([Leader, Closing], { autorun: false });
  await app.delays.schedule('order.close', { orderId: 'a' }, { after: 0, key: 'a' });
  expect(app.get(DelayWorker).isRunning).toBe(false);
  const fired = app.next('completed', 'order.close', 'a');
  await app.get(Leader).elected();
  await fired;
  await app.get(Leader).deposed();
  expect(app.get(DelayWorker).isRunning).toBe(false);
  await app.stop();
});
