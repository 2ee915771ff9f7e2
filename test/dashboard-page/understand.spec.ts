import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { openBrowser } from '../page/support/visitor.js';
import { DashboardApp } from '../support/dashboard-app.js';
import { CLOSE, OperatedQueue, REFUND, REMIND, REPORT } from './support/operated-queue.js';
import { Viewer } from './support/viewer.js';

let browser: Browser;
let queue: OperatedQueue;
let viewer: Viewer;

beforeAll(async () => {
  browser = await openBrowser();
  queue = await OperatedQueue.open({
    dashboard: {
      authorize: ({ headers }) => ({
        who: 'anna',
        actions: headers['x-payloads'] === 'hidden' ? ['view'] : 'all',
      }),
    },
  });
  await queue.plant();
  await queue.plantOverdue();
  viewer = await Viewer.come(browser, queue.url);
});
afterAll(async () => {
  await viewer.leave();
  await browser.close();
  await queue.close();
});

const idOf = async (name: string): Promise<string> => {
  const [row] = (await queue.sql('SELECT id FROM delay_queue.delay WHERE name = $1', [name])) as {
    id: string;
  }[];
  return row!.id;
};

describe('the overview', () => {
  it('says what is wrong, and leads to its delays', async () => {
    await viewer.open('');
    const dead = viewer.page.locator('.figures div').filter({ hasText: 'Dead letters' });
    expect(await dead.locator('dd').textContent()).toBe('3');
    await viewer.page
      .locator('.health')
      .getByRole('link', { name: 'Show delays' })
      .first()
      .waitFor();
    const line = viewer.panel('Names').getByRole('row').filter({ hasText: REFUND });
    await line.getByRole('link', { name: '3', exact: true }).click();
    await viewer.seesKeys(['order-3', 'order-2', 'order-1']);
  });

  it('shows nodes, pauses and what comes due', async () => {
    await viewer.open('');
    await viewer.seesIn('Nodes', 'node-1');
    await viewer.seesIn('Pauses', REMIND);
    await viewer.seesIn('Pauses', 'the provider is down');
    await viewer.button('Day').click();
    await viewer
      .panel('Coming due')
      .getByRole('img', { name: /\d+ delays due/ })
      .waitFor();
    await viewer.panel('Coming due').locator('canvas').waitFor();
  });
});

describe('one delay', () => {
  it('is explained in a sentence first, counts down, and its numbers are exact', async () => {
    await viewer.open(`?view=delay&id=${await idOf(CLOSE)}`);
    await viewer.seesHeading('order-1');
    await viewer.seesText(/is due in 1 h 59 min|is due in 2 h/);
    await viewer.page
      .getByRole('timer', { name: 'Time left' })
      .filter({ hasText: '1:59:' })
      .waitFor();
    await viewer.seesIn('Payload', '"orderId": 12345678901234567890');
    await viewer.seesIn('Moves', 'anna');
  });

  it('is watched until it has fired', async () => {
    const { delays } = queue.app;
    await delays.schedule(CLOSE, 1, { key: 'watched', after: '1h' });
    const [row] = (await queue.sql(`SELECT id FROM delay_queue.delay WHERE key = 'watched'`)) as {
      id: string;
    }[];
    await viewer.open(`?view=delay&id=${row!.id}`);
    await viewer.seesText('Scheduled');
    await queue.app.admin.runNow([{ name: CLOSE, key: 'watched' }]);
    await viewer.seesText('Completed');
    await viewer.seesIn('Facts', 'Late by');
  });

  it('shows each attempt with the first line of its error, and the rest when asked for', async () => {
    await viewer.open(`?view=delay&id=${await idOf(REFUND)}`);
    await viewer.seesIn('Attempts', 'Attempt 1');
    await viewer.seesIn('Attempts', 'Error: the refund was refused');
    await viewer.page.getByText('Full text').click();
    await viewer.seesIn('Attempts', 'by the bank');
  });

  it('says how it recurs in words, and when next', async () => {
    await viewer.open(`?view=delay&id=${await idOf(REPORT)}`);
    await viewer.seesIn('Recurs', 'At 04:30, Monday through Friday');
    expect(await viewer.panel('Recurs').getByRole('listitem').count()).toBeGreaterThan(1);
    await viewer.button('中文').click();
    await viewer.page.getByText('星期一至星期五').waitFor();
    await viewer.button('English').click();
  });

  it('says that the application redacts its payload', async () => {
    const redacting = await DashboardApp.start({
      url: queue.database.url,
      dashboard: { redact: () => ({ card: '…' }) },
    });
    const other = await Viewer.come(browser, redacting.url, {
      query: `?view=delay&id=${await idOf(CLOSE)}`,
    });
    await other.seesText('The application has redacted part of it.');
    await other.seesText('"card": "…"');
    await other.leave();
    await redacting.stop();
  });

  it('hides payloads from a viewer without the right, and says so', async () => {
    const other = await Viewer.come(browser, queue.url, {
      extraHTTPHeaders: { 'x-payloads': 'hidden' },
      query: `?view=delay&id=${await idOf(CLOSE)}`,
    });
    await other.seesText('You may not see payloads.');
    expect(await other.page.getByText('12345678901234567890').count()).toBe(0);
    await other.leave();
  });
});

describe('one key', () => {
  it('is one story across names and runs, with moves, attempts and who', async () => {
    await viewer.open('?view=story&key=order-1');
    const lines = await viewer.panel('What happened').locator('.told').allInnerTexts();
    const told = lines.map((line) => line.replaceAll(/\s+/g, ' '));
    expect(told).toEqual([
      expect.stringContaining(`${REMIND} scheduled for`),
      expect.stringMatching(new RegExp(`^${REMIND} Cancelled.*by checkout$`)),
      expect.stringContaining(`${CLOSE} scheduled for`),
      expect.stringMatching(new RegExp(`^${CLOSE} Rescheduled: .* by anna$`)),
      expect.stringContaining(`${REFUND} scheduled for`),
      expect.stringMatching(new RegExp(`^${REFUND} Attempt 1 failed`)),
      `${REFUND} Dead`,
      expect.stringContaining(`${CLOSE} comes due in`),
    ]);
    expect(await viewer.panel('Runs').getByRole('listitem').count()).toBe(3);
  });
});
