import type { DelayTarget } from 'nestjs-delay-queue';
import { DashboardApp, type DashboardSetup } from '../../support/dashboard-app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { plainHandler } from '../../support/delay-node.js';
import type { Json } from '../../support/delay-payloads.js';
import { until } from '../../support/until.js';

export const CLOSE = 'test.close';
export const REMIND = 'test.remind';
export const REFUND = 'test.refund';
export const MAIL = 'test.mail';
export const REPORT = 'test.report';

/** More than a page of the dashboard has. */
export const MAILS = 60;

/** What a browser would make of it, and what it may not. */
export const HOSTILE = {
  name: 'test.<img src=x onerror=alert(1)>',
  key: '"><script>alert(2)</script>\u202eyek\u{1f600}',
  long: 'x'.repeat(255),
  error: '<img src=x onerror=alert(3)>\n    at <script>alert(4)</script>',
  payload: { '<b>': '<img src=x onerror=alert(5)>', '\u202ertl': '\u{1f600}' },
};

const REFUSED = 'the refund was refused\nby the bank';

/** A queue with delays in each state, and its dashboard: what an operator finds. */
export class OperatedQueue {
  private constructor(
    readonly database: TestDatabase,
    readonly app: DashboardApp,
  ) {}

  static async open(setup: Partial<DashboardSetup> = {}): Promise<OperatedQueue> {
    const database = await createTestDatabase();
    const app = await DashboardApp.start({
      url: database.url,
      providers: [
        plainHandler(CLOSE, () => {}),
        plainHandler(REMIND, () => {}),
        plainHandler(MAIL, () => {}),
        plainHandler(REPORT, () => {}),
        plainHandler(REFUND, () => Promise.reject(new Error(REFUSED)), { maxAttempts: 1 }),
      ],
      options: { nodeName: 'node-1', history: { attempts: true } },
      ...setup,
    });
    return new OperatedQueue(database, app);
  }

  get url(): string {
    return this.app.url;
  }

  /** One key with a story, three dead letters, a page and more of mails, and one that recurs. */
  async plant(): Promise<void> {
    const { delays, admin } = this.app;
    const order: DelayTarget = { name: CLOSE, key: 'order-1' };
    await delays.schedule(REMIND, 1, { key: 'order-1', after: '20m' });
    await delays.cancel(REMIND, 'order-1', { by: 'checkout' });
    await delays.schedule(CLOSE, { n: 1 }, { key: 'order-1', group: 'eu', after: '1h' });
    await admin.reschedule([order], { after: '2h' }, { by: 'anna' });
    // Beyond what a number of JavaScript holds.
    await this.sql(
      `UPDATE delay_queue.delay SET payload = '{"orderId": 12345678901234567890}' WHERE name = '${CLOSE}'`,
    );
    await delays.scheduleMany(
      Array.from({ length: MAILS }, (_item, at) => ({
        name: MAIL,
        payload: at,
        key: `mail-${at}`,
        at: new Date(Date.now() + 86_400_000 + at * 1_000),
      })),
    );
    await delays.schedule(REPORT, null, {
      key: 'nightly',
      repeat: { cron: '30 4 * * 1-5', timeZone: 'Europe/Berlin' },
    });
    await this.plantDead('order-1', 'order-2', 'order-3');
    await admin.pause(REMIND, { reason: 'the provider is down', by: 'anna' });
  }

  /** Dead letters with these keys. */
  async plantDead(...keys: string[]): Promise<void> {
    for (const key of keys) await this.app.delays.schedule(REFUND, { key }, { key, after: 0 });
    await until(
      () => this.app.admin.count({ state: 'dead', name: REFUND }),
      (count) => count >= keys.length,
    );
  }

  /** One that no node serves, due an hour ago. */
  async plantOverdue(): Promise<void> {
    await this.sql(
      `INSERT INTO delay_queue.delay (name, due_at, wake_at, created_at, payload)
       VALUES ('test.unserved', now() - interval '1 h', now() - interval '1 h', now(), '1')`,
    );
  }

  /** Delays of which each text is another attempt at the viewer's browser. */
  async plantHostile(): Promise<void> {
    const { name, key, long, error, payload } = HOSTILE;
    const row = (itsName: string, itsKey: string, due: string, its: Json): Promise<unknown> =>
      this.sql(
        `INSERT INTO delay_queue.delay (name, key, group_id, due_at, wake_at, created_at, attempts, last_error, payload, headers)
         VALUES ($1, $2, $3, now(), ${due}, now(), 1, $4, $5, $6)`,
        [itsName, itsKey, '<i>group', error, JSON.stringify(its), JSON.stringify({ '<u>': key })],
      );
    await row(name, key, `'infinity'`, payload);
    await row('test.long', long, `now() + interval '1 d'`, long);
  }

  async sql(text: string, values: unknown[] = []): Promise<unknown[]> {
    return await this.app.dataSource.query<unknown[]>(text, values);
  }

  async close(): Promise<void> {
    await this.app.stop();
    await this.database.drop();
  }
}
