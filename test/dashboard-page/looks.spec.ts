import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { overflowOf, violationsOn } from '../page/support/accessibility.js';
import { openBrowser } from '../page/support/visitor.js';
import { HOSTILE, OperatedQueue } from './support/operated-queue.js';
import { Viewer } from './support/viewer.js';

const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
const BYTES_MAX = 120_000;

const VIEWS = [
  '',
  '?view=search',
  '?view=delay&id=1',
  '?view=story&key=order-1',
  '?view=dead',
  '?view=operations',
];

let browser: Browser;
let queue: OperatedQueue;

beforeAll(async () => {
  browser = await openBrowser();
  queue = await OperatedQueue.open({
    dashboard: { environment: { label: 'production', tone: 'danger' } },
  });
  await queue.plant();
  await queue.plantHostile();
});
afterAll(async () => {
  await browser.close();
  await queue.close();
});

describe('the dashboard', () => {
  it.each([
    ['light', 'en-GB', WIDE],
    ['dark', 'en-GB', WIDE],
    ['light', 'zh-CN', PHONE],
    ['dark', 'zh-CN', PHONE],
  ] as const)(
    '%s, %s, %j: axe finds nothing in any view, and nothing is wider',
    async (colorScheme, locale, viewport) => {
      const viewer = await Viewer.come(browser, queue.url, { colorScheme, locale, viewport });
      for (const view of VIEWS) {
        await viewer.open(view);
        expect([view, await violationsOn(viewer.page), await overflowOf(viewer.page)]).toEqual([
          view,
          [],
          0,
        ]);
      }
      await viewer.open('?view=search');
      await viewer.page.locator('[aria-controls=filter-form]').click();
      expect(await violationsOn(viewer.page)).toEqual([]);
      await viewer.page.locator('h1').focus();
      await viewer.press('?');
      await viewer.page.locator('dialog[open]').waitFor();
      expect([await violationsOn(viewer.page), await overflowOf(viewer.page)]).toEqual([[], 0]);
      await viewer.leave();
    },
  );

  it('shows names, keys, errors, payloads and headers as they are, and makes nothing of them', async () => {
    const viewer = await Viewer.come(browser, queue.url);
    const { name, key, long, error, payload } = HOSTILE;
    const [row] = (await queue.sql('SELECT id FROM delay_queue.delay WHERE name = $1', [name])) as {
      id: string;
    }[];
    for (const view of [
      '',
      `?view=search&name=${encodeURIComponent(name)}`,
      `?view=delay&id=${row!.id}`,
      `?view=story&key=${encodeURIComponent(key)}`,
      `?view=story&key=${long}`,
      '?view=dead',
    ]) {
      await viewer.open(view);
      expect(
        await viewer.page.locator('main :is(img, script, i:not(.meter i), u, b:has(b))').count(),
      ).toBe(0);
    }
    await viewer.open(`?view=delay&id=${row!.id}`);
    const shown = await viewer.page.locator('main').innerText();
    for (const text of [name, key, error.split('\n')[0]!, Object.values(payload)[0]!])
      expect(shown).toContain(text);
    await viewer.leave();
  });

  it('is in the language and the theme that the viewer chose, and says where it is', async () => {
    const viewer = await Viewer.come(browser, queue.url, { colorScheme: 'light' });
    await viewer.seesText('production');
    await viewer.button('中文').click();
    await viewer.button('深色主题').click();
    await viewer.page.reload();
    await viewer.seesHeading('节点');
    expect(await viewer.page.locator('html').getAttribute('lang')).toBe('zh-CN');
    expect(await viewer.page.locator('html').getAttribute('data-theme')).toBe('dark');
    await viewer.leave();
  });

  it('is small on the way', async () => {
    const names = ['', 'page.js', 'page.css'];
    const sizes = await Promise.all(
      names.map(async (name) => {
        const { headers } = await fetch(new URL(name, queue.url), {
          headers: { 'accept-encoding': 'gzip' },
        });
        expect(headers.get('content-encoding')).toBe('gzip');
        return Number(headers.get('content-length'));
      }),
    );
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(BYTES_MAX);
  });
});

it('opens in a browser whose language is no language tag', async () => {
  const page = await browser.newPage();
  await page.addInitScript(
    `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })`,
  );
  await page.goto(queue.url);
  await page.getByText('Coming due').waitFor();
  expect(await page.getByRole('heading', { name: 'Names' }).count()).toBe(1);
  await page.close();
});
