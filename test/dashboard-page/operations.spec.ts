import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { openBrowser } from '../page/support/visitor.js';
import { DashboardApp } from '../support/dashboard-app.js';
import { HeldDelay, insertDelays } from '../support/dashboard-operations.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { plainHandler } from '../support/delay-node.js';
import { Operator } from './support/operator.js';

const NAME = 'test.wait';
const FORM = 'test.form';
const DEAD = 'test.dead';
const MANY = 10_000;

/** As schema libraries make them; it refuses a number that is not positive. */
const SCHEMA = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) =>
      Number((value as { orderId?: unknown }).orderId) > 0
        ? { value }
        : { issues: [{ message: 'must be positive', path: ['orderId'] }] },
    jsonSchema: {
      input: () => ({
        type: 'object',
        properties: { orderId: { type: 'integer' }, note: { type: 'string' } },
        required: ['orderId'],
      }),
    },
  },
};

let browser: Browser;
let database: TestDatabase;
let client: Client;
let app: DashboardApp;
let operator: Operator;
let held: HeldDelay | undefined;

beforeAll(async () => {
  browser = await openBrowser();
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  app = await start();
  operator = await Operator.come(browser, app.url);
}, 60_000);
beforeEach(async () => {
  await client.query(
    'TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.operation, delay_queue.operation_change, delay_queue.pause',
  );
});
afterEach(async () => {
  await held?.release();
  held = undefined;
});
afterAll(async () => {
  await operator.viewer.leave();
  await browser.close();
  await app.stop();
  await client.end();
  await database.drop();
});

const start = (port = 0): Promise<DashboardApp> =>
  DashboardApp.start({
    url: database.url,
    port,
    providers: [plainHandler(FORM, () => {}, { payload: SCHEMA })],
    dashboard: { authorize: () => ({ who: 'anna', actions: 'all' }) },
  });

const restart = async (): Promise<void> => {
  const port = Number(new URL(app.url).port);
  await app.stop();
  app = await start(port);
};

const waiting = (many = 1): Promise<string[]> => insertDelays(client, { name: NAME, many });

/** Starts a retry of all dead letters from the page, which waits behind the first 4,000. */
async function retriesHeld(by = operator): Promise<void> {
  const ids = await insertDelays(client, { name: DEAD, many: MANY, dead: true });
  held = await HeldDelay.of(database.url, ids[4_500]!);
  await by.open('?view=dead');
  await by.asks('Retry all of these…');
  await by.fills('Why', 'the provider is back');
  await by.fills(`Type ${MANY} to confirm`, '10,000');
  await by.confirms('Retry 10,000+ dead letters');
  await by.sees('4,000 of 10,000+');
}

const retried = (): Promise<number> => app.admin.count({ name: DEAD, state: 'scheduled' });

describe('an operation on 10,000 dead letters', () => {
  it('shows how far it is, is stopped in the middle, and tells what the database has', async () => {
    await retriesHeld();
    await operator.strip.getByRole('progressbar').waitFor();
    await operator.strip.getByRole('button', { name: 'Stop: Retry' }).click();
    await operator.sees('Stopping');
    await held?.release();
    await operator.sees('Stopped', '5,000 retried');
    expect(await retried()).toBe(5_000);
    expect(await app.admin.count({ name: DEAD, state: 'dead' })).toBe(5_000);
    await operator.viewer.seesIn('Dead letters', '5,000');
    await operator.strip.getByRole('link', { name: 'Details' }).click();
    await operator.viewer.seesText('It was stopped. The changes it made remain.');
    const changes = operator.viewer.panel('What it changed');
    await changes.getByRole('link', { name: `${DEAD} 100`, exact: true }).waitFor();
    await operator.viewer.link('More changes').click();
    await changes.getByRole('link', { name: `${DEAD} 101`, exact: true }).click();
    await operator.viewer.seesHeading(`${DEAD} 101`);
  });

  it('goes on while the page is closed, and is found among the operations', async () => {
    await retriesHeld();
    await operator.open('?view=operations');
    const row = operator.viewer.page.getByRole('row').filter({ hasText: 'the provider is back' });
    await row.getByText('Running').waitFor();
    await row.getByText('4,000 of 10,000+').waitFor();
    await held?.release();
    await row.getByText('10,000 retried').waitFor();
    expect(await row.innerText()).toMatch(/anna/);
    expect(await retried()).toBe(MANY);
    await row.getByRole('link', { name: /^test\.dead/ }).click();
    await operator.viewer.seesText('Nothing matches');
  });

  it('is followed also where a proxy lets no stream through', async () => {
    const other = await Operator.come(browser, app.url);
    await other.viewer.page.route('**/api/live', (route) => route.abort());
    await retriesHeld(other);
    await held?.release();
    await other.sees('Done', '10,000 retried');
    await other.viewer.seesText('No dead letters');
    expect(await retried()).toBe(MANY);
    await other.viewer.leave();
  });

  it('that ends early since the application closes is told, over a restart', async () => {
    await retriesHeld();
    await operator.strip.getByRole('link', { name: 'Details' }).click();
    await operator.viewer.seesHeading('Operation: Retry');
    const restarted = restart();
    await operator.viewer.seesBanner('Connection lost. Reconnecting…');
    await held?.release();
    await restarted;
    await operator.viewer.seesText('It was stopped. The changes it made remain.');
    await operator.viewer.seesBanner(null);
    expect(await retried()).toBe(5_000);
  });

  it('of a process that was killed is told as interrupted, with what to do', async () => {
    await client.query(
      `INSERT INTO delay_queue.operation (id, started_at, seen_at, action, who, node, asked, counts)
       VALUES (7, now(), now(), 'cancel', 'ben', 'node-9', '{"which": {"ids": ["1", "2"]}}', '{"cancelled": 1}')`,
    );
    await operator.open('?view=operation&id=7');
    await operator.viewer.seesIn('Result', 'Running');
    await client.query(`UPDATE delay_queue.operation SET seen_at = now() - interval '2 min'`);
    await operator.viewer.seesIn('Result', 'Interrupted');
    await operator.viewer.seesText(/Start it again for the rest/);
    expect(await operator.viewer.button('Stop').count()).toBe(0);
  });
});

it('without any operation, says what becomes one', async () => {
  await operator.open('?view=operations');
  await operator.viewer.seesText('No operations');
  await operator.open('?view=operation&id=12345');
  expect(await operator.viewer.page.getByRole('alert').first().innerText()).not.toBe('');
});

describe('a name', () => {
  it('is paused for a while with its reason, and resumed; so is one of its groups', async () => {
    await waiting(3);
    await operator.open('');
    const row = operator.viewer.page.getByRole('row').filter({ hasText: NAME });
    await operator.asks(`Pause ${NAME}`, row);
    await operator.reads('It has 3 live delays.');
    await operator.fills(/^Group/, 'group 1');
    await operator.dialog.getByLabel(/^For how long/).fill('2h');
    await operator.reads('It has 1 live delay.');
    await operator.fills('Why', 'the provider is down');
    await operator.confirms('Pause');
    await operator.viewer.seesIn('Pauses', 'the provider is down');
    expect((await app.admin.stats()).pauses).toMatchObject([
      { name: NAME, group: 'group 1', by: 'anna', until: expect.any(Date) },
    ]);
    await operator.asks(`Resume ${NAME} · group 1`);
    await operator.confirms('Resume');
    await operator.viewer.seesIn('Pauses', 'Nothing is paused');
    expect((await app.admin.stats()).pauses).toEqual([]);
  });
});

const opensForm = async (): Promise<void> => {
  await operator.open('?view=search');
  await operator.viewer.button('New delay…').click();
  await operator.dialog.getByLabel('Name', { exact: true }).waitFor();
};

describe('a new delay', () => {
  it('is written as JSON; where it is none, its place is told', async () => {
    await waiting();
    await opensForm();
    await operator.dialog.getByLabel('Name', { exact: true }).selectOption(NAME);
    await operator.fills(/^Key/, 'new 1');
    await operator.chooses('After a duration from now');
    await operator.fills('Payload', '{\n  "a": 1,\n}');
    await operator.reads('This is not JSON: line 3, column 1.');
    await operator.triesInVain('Create');
    await operator.fills('Payload', '{ "a": 1 }');
    await operator.confirms('Create');
    await operator.sees('1 created');
    expect(await app.admin.list({ key: 'new 1' })).toMatchObject([{ payload: { a: 1 } }]);
    await opensForm();
    await operator.dialog.getByLabel('Name', { exact: true }).selectOption(NAME);
    await operator.fills(/^Key/, 'new 1');
    await operator.presses('Create');
    await operator.dialog
      .getByRole('alert')
      .getByText(/Something else changed it in the meantime|new 1/)
      .waitFor();
    await operator.presses('Close');
    expect(await app.admin.count({ key: 'new 1' })).toBe(1);
  });

  it('has a form where its schema is an object of plain fields, and is refused by that schema', async () => {
    await opensForm();
    await operator.dialog.getByLabel('Name', { exact: true }).selectOption(FORM);
    await operator.chooses('At an instant');
    await operator.fills('orderId', '-1');
    await operator.presses('Create');
    await operator.dialog
      .getByRole('alert')
      .getByText(/must be positive/)
      .waitFor();
    await operator.fills('orderId', '12');
    await operator.fills(/^note/, 'x');
    await operator.confirms('Create');
    expect(await app.admin.list({ name: FORM })).toMatchObject([
      { payload: { orderId: 12, note: 'x' } },
    ]);
  });
});
