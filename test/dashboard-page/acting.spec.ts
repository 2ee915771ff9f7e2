import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { violationsOn, overflowOf } from '../page/support/accessibility.js';
import { openBrowser } from '../page/support/visitor.js';
import { DashboardApp } from '../support/dashboard-app.js';
import { insertDelays } from '../support/dashboard-operations.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { plainHandler } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { Operator } from './support/operator.js';
import type { DashboardAction } from '../support/dashboard-parts.js';

const NAME = 'test.wait';
const HELD = 'test.held';

let browser: Browser;
let database: TestDatabase;
let client: Client;
let app: DashboardApp;
let operator: Operator;

beforeAll(async () => {
  browser = await openBrowser();
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  app = await DashboardApp.start({
    url: database.url,
    providers: [
      plainHandler(
        HELD,
        (_delay, { signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ),
    ],
    dashboard: {
      authorize: ({ headers }) => ({
        who: 'anna',
        actions:
          ((headers['x-actions'] as string | undefined)?.split(',') as
            | DashboardAction[]
            | undefined) ?? 'all',
      }),
    },
  });
  operator = await Operator.come(browser, app.url);
});
beforeEach(async () => {
  await client.query(
    'TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.operation, delay_queue.operation_change, delay_queue.pause',
  );
});
afterAll(async () => {
  await operator.viewer.leave();
  await browser.close();
  await app.stop();
  await client.end();
  await database.drop();
});

const waiting = (many = 1): Promise<string[]> => insertDelays(client, { name: NAME, many });
const dead = (many = 1): Promise<string[]> =>
  insertDelays(client, { name: 'test.dead', many, dead: true });

/** Hours until each is due, by key. */
async function hoursLeft(): Promise<number[]> {
  const { rows } = await client.query<{ hours: number }>(
    `SELECT round(extract(epoch FROM due_at - now()) / 3600)::int AS hours FROM delay_queue.delay ORDER BY id`,
  );
  return rows.map(({ hours }) => hours);
}

const count = (state: 'scheduled' | 'dead' | 'running'): Promise<number> =>
  app.admin.count({ state });

describe('one delay', () => {
  it('is moved by a duration, to an instant and after a duration', async () => {
    const [id] = await waiting();
    await operator.open(`?view=delay&id=${id}`);
    await operator.asks('Reschedule…');
    await operator.chooses('Later by');
    await operator.fills('Why', 'the customer called');
    await operator.confirms('Reschedule 1 delay');
    await operator.sees('Reschedule', 'Done', '1 rescheduled');
    expect(await hoursLeft()).toEqual([25]);
    await operator.asks('Reschedule…');
    await operator.chooses('At an instant');
    await operator.dialog
      .getByLabel('At an instant', { exact: true })
      .last()
      .fill('2031-01-01T00:00:00');
    await operator.confirms('Reschedule 1 delay');
    await until(
      () => app.admin.list({ name: NAME }),
      ([delay]) => delay?.dueAt.toISOString() === '2031-01-01T00:00:00.000Z',
    );
    await operator.asks('Reschedule…');
    await operator.dialog.getByRole('textbox', { name: 'After a duration from now' }).fill('48h');
    await operator.confirms('Reschedule 1 delay');
    await until(hoursLeft, (left) => left.join() === '48');
    await operator.viewer.seesIn('Moves', 'anna');
  });

  it('is told what is wrong with a duration, and nothing is changed', async () => {
    const [id] = await waiting();
    await operator.open(`?view=delay&id=${id}`);
    await operator.asks('Reschedule…');
    await operator.dialog.getByRole('textbox', { name: 'After a duration from now' }).fill('60');
    await operator.presses('Reschedule 1 delay');
    await operator.dialog
      .getByRole('alert')
      .getByText(/has no unit: .60/)
      .waitFor();
    await operator.presses('Close');
    expect(await hoursLeft()).toEqual([24]);
    expect(await operations()).toEqual([]);
  });

  it('is made due, and is cancelled', async () => {
    const [first, second] = await waiting(2);
    await operator.open(`?view=delay&id=${first}`);
    await operator.asks('Run now…');
    await operator.confirms('Run 1 delay now');
    await until(hoursLeft, (left) => left[0] === 0);
    await operator.open(`?view=delay&id=${second}`);
    await operator.asks('Cancel…');
    await operator.confirms('Cancel 1 delay');
    await operator.viewer.page.locator('main .pill.state-cancelled').first().waitFor();
    expect(await operator.buttons()).toEqual([]);
    expect(await app.delays.history(NAME, `${NAME} 2`)).toMatchObject([
      { state: 'cancelled', by: 'anna' },
    ]);
  });

  it('is aborted while it runs', async () => {
    const { id } = await app.delays.schedule(HELD, null, { after: 0 });
    await until(
      () => count('running'),
      (running) => running === 1,
    );
    await operator.open(`?view=delay&id=${id}`);
    await operator.asks('Abort…');
    await operator.confirms('Abort 1 delay');
    await operator.sees('1 aborted');
    expect(await app.admin.count({})).toBe(0);
  });

  it('is retried and discarded when it is dead', async () => {
    const [first, second] = await dead(2);
    await operator.open(`?view=delay&id=${first}`);
    await operator.asks('Retry…');
    await operator.confirms('Retry 1 dead letter');
    await until(
      () => count('dead'),
      (left) => left === 1,
    );
    await operator.open(`?view=delay&id=${second}`);
    await operator.asks('Discard…');
    await operator.confirms('Discard 1 dead letter');
    await until(
      () => count('dead'),
      (left) => left === 0,
    );
    expect(await app.admin.count({})).toBe(1);
  });
});

const operations = async (): Promise<unknown[]> =>
  (await client.query('SELECT action, why FROM delay_queue.operation ORDER BY id')).rows;

const select = (key: string, modifiers: 'Shift'[] = []): Promise<void> =>
  operator.viewer.page.getByLabel(`Select ${key}`, { exact: true }).click({ modifiers });

describe('several delays', () => {
  it('are selected by row and by range; the filter stays, and the list is read again', async () => {
    await waiting(6);
    await operator.open(`?view=search&name=${NAME}`);
    await select(`${NAME} 2`);
    await select(`${NAME} 4`, ['Shift']);
    await operator.asks('Cancel…');
    await operator.reads('3 delays will change.');
    await operator.fills('Why', 'a test');
    await operator.confirms('Cancel 3 delays');
    await operator.viewer.seesKeys([1, 5, 6].map((n) => `${NAME} ${n}`));
    expect(operator.viewer.query.get('name')).toBe(NAME);
    expect(await operations()).toEqual([{ action: 'cancel', why: 'a test' }]);
  });

  it('are all that match, on whatever page; more than a hundred ask for their number', async () => {
    await waiting(130);
    await operator.open('?view=search');
    await operator.viewer.press('/');
    await operator.viewer.page.keyboard.type(NAME);
    await operator.viewer.press('Enter');
    await operator.viewer.seesText('These delays have that name.');
    await select(`${NAME} 1`);
    await operator.viewer.button('Select all 130 that match').click();
    await operator.asks('Run now…');
    await operator.triesInVain('Run 130 delays now');
    await operator.fills('Type 130 to confirm', '13');
    await operator.triesInVain('Run 130 delays now');
    expect(await operations()).toEqual([]);
    await operator.fills('Type 130 to confirm', '130');
    await operator.confirms('Run 130 delays now');
    await operator.sees('130 made due');
    await until(hoursLeft, (left) => left.every((hours) => hours === 0));
    expect(operator.viewer.query.get('q')).toBe(NAME);
    expect(await operator.viewer.page.getByRole('checkbox', { checked: true }).count()).toBe(0);
  });

  it('of which some cannot be changed: the dry run says which, and why', async () => {
    await waiting(2);
    await client.query('UPDATE delay_queue.delay SET name = $1', ['test.dead']);
    await dead(3);
    await operator.open('?view=search&name=test.dead');
    await operator.viewer.page.getByLabel('Select all rows').click();
    await operator.asks('Reschedule…');
    await operator.reads('2 delays will change.');
    await operator.reads('These stay as they are:');
    await operator.reads('It is a dead letter: retry it.');
    await operator.confirms('Reschedule 2 delays');
    await operator.sees('2 rescheduled');
    expect(await count('dead')).toBe(3);
    await operator.viewer.open('?view=search&state=dead');
    await operator.viewer.page.getByLabel('Select all rows').click();
    await client.query('DELETE FROM delay_queue.delay');
    await operator.asks('Retry…');
    await operator.reads('None of them can be changed.');
    await operator.triesInVain('Retry 0 dead letters');
    expect(await operator.dialog.isVisible()).toBe(true);
    await operator.presses('Close');
  });
});

describe('a customer', () => {
  it('is erased from a search, once their number is typed, and from the story of a key', async () => {
    await waiting(240);
    await operator.open(`?view=search&name=${NAME}`);
    await operator.viewer.seesKeys(Array.from({ length: 50 }, (_, n) => `${NAME} ${n + 1}`));
    expect(await operator.viewer.button('Erase…').count()).toBe(0);
    await operator.open(`?view=search&name=${NAME}&group=group+1`);
    await operator.asks('Erase…');
    await operator.reads('80 records will be erased.');
    await operator.presses('Close');
    await operator.open(`?view=search&keyPrefix=${NAME}`);
    await operator.asks('Erase…');
    await operator.reads('240 from the queue');
    await operator.triesInVain('Erase 240 records');
    await operator.fills('Type 240 to confirm', '240');
    await operator.confirms('Erase 240 records');
    await operator.sees('Erase', 'Done', '240 from the queue');
    await operator.strip.getByRole('link', { name: 'Details' }).click();
    await operator.viewer.seesHeading('Operation: Erase');
    await operator.viewer.seesIn('What it changed', 'No list is kept');
    await operator.viewer.seesIn('Order', 'Erased');
    await waiting();
    await app.delays.cancel(NAME, `${NAME} 1`);
    await operator.open(`?view=story&key=${NAME}+1`);
    await operator.asks('Erase…');
    await operator.confirms('Erase 1 record');
    await operator.sees('1 from history');
    await operator.viewer.seesText('Keys are matched exactly. History may have been pruned.');
    expect(await app.delays.history(NAME, `${NAME} 1`)).toEqual([]);
  });
});

describe('dead letters', () => {
  it('are retried by their error, and no others', async () => {
    await dead(3);
    await client.query(
      `UPDATE delay_queue.delay SET last_error = 'Error: no, or so' || chr(10) || ' at x' WHERE key = 'test.dead 3'`,
    );
    await operator.open('?view=dead');
    const group = operator.viewer.page.locator('tr').filter({ hasText: 'Error: no, or so' });
    await operator.asks('Retry all of these…', group);
    await operator.confirms('Retry 1 dead letter');
    await until(
      () => count('dead'),
      (left) => left === 2,
    );
    await group.waitFor({ state: 'detached' });
    await operator.asks('Discard all of these…');
    await operator.confirms('Discard 2 dead letters');
    await operator.viewer.seesText('No dead letters');
    expect(await app.admin.count({})).toBe(1);
  });

  it('are shown when their name is followed', async () => {
    await dead(2);
    await operator.open('?view=dead');
    await operator.viewer.page.getByRole('link', { name: /^Show them: test\.dead/ }).click();
    await operator.viewer.seesKeys(['test.dead 2', 'test.dead 1']);
    expect(operator.viewer.query.get('errorLine')).toBe('Error: no');
  });
});

describe('the dialog', () => {
  it('gives the focus back to what opened it, and to the heading when that is gone', async () => {
    const [id] = await waiting();
    await operator.open(`?view=delay&id=${id}`);
    await operator.asks('Cancel…');
    await operator.viewer.press('Escape');
    await operator.dialog.waitFor({ state: 'detached' });
    expect(await operator.focused()).toBe('Cancel…');
    expect(await operations()).toEqual([]);
    await operator.viewer.press('Enter');
    await operator.dialog.locator('.preview[aria-busy=false]').waitFor();
    await operator.viewer.page.keyboard.type('no longer wanted');
    await operator.viewer.press('Enter');
    await operator.viewer.page.locator('main .pill.state-cancelled').first().waitFor();
    await until(
      () => operator.focused(),
      (text) => text === `${NAME} 1`,
    );
    expect(await operations()).toEqual([{ action: 'cancel', why: 'no longer wanted' }]);
  });

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('%s, %d px: axe finds nothing, and nothing is wider', async (colorScheme, width) => {
    await waiting(120);
    await dead(2);
    const other = await Operator.come(browser, app.url, {
      colorScheme,
      viewport: { width, height: 844 },
      query: `?view=search&name=${NAME}`,
    });
    const looksGood = async (): Promise<void> => {
      await other.viewer.page.locator('[aria-busy=true]').waitFor({ state: 'detached' });
      expect([await violationsOn(other.viewer.page), await overflowOf(other.viewer.page)]).toEqual([
        [],
        0,
      ]);
    };
    await other.viewer.page.getByLabel(`Select ${NAME} 1`, { exact: true }).click();
    await other.viewer.button('Select all 120 that match').click();
    await looksGood();
    await other.asks('Reschedule…');
    await looksGood();
    await other.presses('Close');
    await other.open(`?view=search&keyPrefix=${NAME}`);
    await other.asks('Erase…');
    await looksGood();
    await other.presses('Close');
    await other.open(`?view=search&name=${NAME}`);
    await other.viewer.page.getByLabel(`Select ${NAME} 1`, { exact: true }).click();
    await other.viewer.button('Select all 120 that match').click();
    await other.asks('Reschedule…');
    await other.fills('Type 120 to confirm', '120');
    await other.confirms('Reschedule 120 delays');
    await other.sees('120 rescheduled');
    await looksGood();
    await other.strip.getByRole('link', { name: 'Details' }).click();
    await other.viewer.seesHeading('Operation: Reschedule');
    await other.viewer.seesIn('What it changed', `${NAME} 1`);
    await looksGood();
    await other.open('?view=search');
    await other.viewer.button('New delay…').click();
    await other.dialog.getByLabel('Name', { exact: true }).waitFor();
    await looksGood();
    await other.viewer.leave();
  });
});

/** How many buttons open a dialog there. */
const offered = async ({ viewer }: Operator, query: string): Promise<number> => {
  await viewer.open(query);
  return viewer.page.locator('main [aria-haspopup=dialog]').count();
};

it('has no button for what the viewer may not do', async () => {
  const [id] = await waiting();
  const [deadId] = await dead();
  const viewOnly = await Operator.come(browser, app.url, {
    extraHTTPHeaders: { 'x-actions': 'view' },
  });
  const retries = await Operator.come(browser, app.url, {
    extraHTTPHeaders: { 'x-actions': 'view,retry' },
  });
  for (const query of [
    '',
    `?view=delay&id=${id}`,
    `?view=delay&id=${deadId}`,
    '?view=dead',
    `?view=search&key=${NAME}+1`,
    `?view=story&key=${NAME}+1`,
    '?view=search',
  ]) {
    expect([query, await offered(viewOnly, query)]).toEqual([query, 0]);
  }
  await viewOnly.viewer.page.getByLabel('Select all rows').click();
  expect(await viewOnly.viewer.page.locator('main .acts').count()).toBe(0);
  expect(await offered(retries, `?view=delay&id=${id}`)).toBe(0);
  expect(await offered(retries, `?view=delay&id=${deadId}`)).toBe(1);
  expect(await offered(retries, '?view=dead')).toBe(1);
  await viewOnly.viewer.leave();
  await retries.viewer.leave();
});
