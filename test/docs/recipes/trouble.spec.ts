import { expect, it } from '@jest/globals';
import { DelayAdmin, type DelayName, DelayService, OnDelay } from 'nestjs-delay-queue';
import { recipe } from '../page.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../../support/engine-parts.js';

const bank = {
  charge: async (orderId: string): Promise<void> => {
    if (orderId === 'poor') throw new Error('no money');
  },
};

it('failures.md: a charge that gives up leaves one task, together with the dead letter', async () => {
  const [page, { Bank, Charges }] = await recipe('failures.md');
  const app = await page.start([{ provide: Bank, useValue: bank }, Charges]);
  await page.sql(`INSERT INTO charge VALUES ('poor'), ('rich')`);
  const dead = app.next('dead', 'order.charge', 'poor');
  await app.scheduleNow('order.charge', ['poor', 'rich'], (orderId) => ({ orderId }));
  await dead;
  await app.ended('order.charge', 'rich');
  expect(await page.sql(`SELECT * FROM support_task`)).toEqual([
    { order_id: 'poor', why: 'Error: no money' },
  ]);
  expect(await page.sql(`SELECT order_id, state FROM charge ORDER BY 1`)).toEqual([
    { order_id: 'poor', state: 'FAILED' },
    { order_id: 'rich', state: 'OPEN' },
  ]);
  expect(await app.find('order.charge', 'poor')).toMatchObject({ state: 'dead', attempts: 3 });
});

it('failures.md: discards those of one shop and retries the others', async () => {
  const [page, { Incident }] = await recipe('failures.md');
  const app = await page.start([Incident]);
  await page.sql(
    `INSERT INTO delay_queue.delay (name, key, due_at, wake_at, created_at, attempts, last_error, payload)
   SELECT 'receipt.confirm', 'shop-' || shop || '/' || n, now(), 'infinity', now(), 3, error, '{}'
   FROM generate_series(1, 30) n,
        (VALUES (7, 'ECONNREFUSED'), (8, 'econnrefused'), (9, 'no row')) s(shop, error)`,
  );
  const incident = app.get(Incident);
  expect(await incident.howMany()).toBe(60);
  const first = await incident.page();
  expect(first).toHaveLength(50);
  expect(await incident.page(first.at(-1)?.id)).toHaveLength(10);
  expect(await incident.repair(new AbortController().signal)).toBe(30);
  const admin = app.get(DelayAdmin);
  const name = 'receipt.confirm' as DelayName;
  expect(await admin.count({ name, state: 'scheduled', keyPrefix: 'shop-8/' })).toBe(30);
  expect(await admin.count({ name, state: 'dead', keyPrefix: 'shop-9/' })).toBe(30);
  expect(await admin.count({ name, keyPrefix: 'shop-7/' })).toBe(0);
});

it('what-happened.md: tells every attempt of an order, across names', async () => {
  const [page, { AppModule, Support }] = await recipe('what-happened.md');
  let calls = 0;
  class Handlers {
    @OnDelay('order.close')
    close(): void {
      calls += 1;
      if (calls === 1) throw new Error('ECONNREFUSED');
    }
  }
  const app = await page.startWith([AppModule], [Support, Handlers]);
  const waits = { after: '14d', key: '42' };
  await app.delays.schedule('receipt.confirm' as DelayName, null, waits);
  await app.scheduleNow('order.close', ['42'], (orderId) => ({ orderId }));
  await app.ended('order.close', '42');
  const at = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
  expect(await app.get(Support).around('42')).toEqual([
    'order.close: completed',
    expect.stringMatching(`^  attempt 1 on \\S+, ${at}: failed, Error: ECONNREFUSED$`),
    expect.stringMatching(`^  attempt 2 on \\S+, ${at}: completed$`),
    'receipt.confirm: scheduled',
  ]);
});

it('what-happened.md: pages through all of one customer, also what is past', async () => {
  const [page, { AppModule, Support }] = await recipe('what-happened.md');
  const app = await page.startWith([AppModule], [Support]);
  const group = 'customer-7';
  const name = 'test.closes';
  await app.delays.scheduleMany(
    Array.from({ length: 120 }, (_, n) => ({
      name,
      payload: { orderId: `${n}` },
      key: `${n}`,
      after: '1h' as const,
      group: n === 0 ? 'customer-8' : group,
    })),
  );
  await app.get(DelayAdmin).cancel({ group, keyPrefix: '1' });
  const file: string[] = [];
  for await (const line of app.get(Support).file('7')) file.push(line);
  expect(new Set(file).size).toBe(119);
  expect(file.filter((line) => line.endsWith('cancelled'))).toHaveLength(31);
});

it('what-happened.md: keeps closed orders longer, and text messages for a shorter time', async () => {
  const [page, { AppModule }] = await recipe('what-happened.md');
  const app = await page.startWith([AppModule], []);
  const { historyKeeps } = app.get<ResolvedOptions>(RESOLVED_OPTIONS as never);
  const dayMs = 86_400_000;
  expect(historyKeeps.map(({ keepMs, names }) => [keepMs / dayMs, ...names])).toEqual([
    [365, 'order.close'],
    [1, 'sms.send'],
    [30, 'order.close', 'sms.send'],
  ]);
});

it('failures.md: stops a report that is being built, and leaves none of its lines', async () => {
  const [page, { Reports }] = await recipe('failures.md');
  const app = await page.start([Reports]);
  const reports = app.get(Reports);
  await page.sql(`INSERT INTO report (id) VALUES ('built'), ('stopped')`);
  await app.scheduleNow('report.build', ['built'], (reportId) => ({ reportId }));
  await app.ended('report.build', 'built');
  expect(await reports.stop('built')).toBe('READY');

  const other = await page.hold(`LOCK TABLE report_line IN EXCLUSIVE MODE`);
  await app.scheduleNow('report.build', ['stopped'], (reportId) => ({ reportId }));
  await page.waiting(1);
  expect(await reports.stop('stopped')).toBe('STOPPED');
  await other.commit();
  expect(await app.history('report.build', 'stopped')).toMatchObject([{ state: 'cancelled' }]);
  expect(await page.sql(`SELECT id, state FROM report ORDER BY id`)).toEqual([
    { id: 'built', state: 'READY' },
    { id: 'stopped', state: 'STOPPED' },
  ]);
  expect(await page.sql(`SELECT DISTINCT report_id FROM report_line`)).toEqual([
    { report_id: 'built' },
  ]);
});

it('what-happened.md: forgets one of two customers, and what an abort wrote', async () => {
  const [page, { Support }] = await recipe('what-happened.md');
  const app = await page.start([Support]);
  const support = app.get(Support);
  const schedule = (group: string) =>
    app.get(DelayService).schedule('test.a', { n: 1 }, { after: '1h', key: group, group });
  await schedule('customer-7');
  await schedule('customer-70');
  await app.get(DelayAdmin).cancel({ group: 'customer-7' }, { running: 'abort' });
  expect(await support.forget('7')).toMatchObject({ erased: 0, history: 1 });
  await schedule('customer-7');
  expect(await support.forget('7')).toMatchObject({ erased: 1, history: 0 });
  expect(await page.sql(`SELECT key FROM delay_queue.delay`)).toEqual([{ key: 'customer-70' }]);
});
