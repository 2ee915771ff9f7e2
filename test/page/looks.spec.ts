import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { InvariantsWatch } from '../../src/shop/invariants/invariants.watch.js';
import { RunningShop } from '../e2e/support/running-shop.js';
import { until } from '../support/until.js';
import { overflowOf, violationsOn } from './support/accessibility.js';
import { openBrowser, Visitor } from './support/visitor.js';

const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

describe('how the page looks', () => {
  let browser: Browser;
  let shop: RunningShop;

  beforeAll(async () => {
    browser = await openBrowser();
    shop = await RunningShop.open();
    await shop.orderAfter('pay', 'ship', 'confirm');
    const rated = await shop.orderAfter('pay', 'ship', 'confirm');
    await shop.act(rated.id, 'review', { stars: 4 });
    const { id } = await shop.orderAfter('pay', 'ship');
    await shop.act(id, 'dispute', { reason: 'a test' });
    await shop.orderAfter('cancel');
    await shop.place(await shop.newSku());
  });
  afterAll(async () => {
    await browser.close();
    await shop.close();
  });

  it.each([
    ['light', 'zh-CN', WIDE, '订单'],
    ['dark', 'en-GB', PHONE, 'Orders'],
  ] as const)(
    '%s, %s, %j: axe finds nothing, and nothing is wider',
    async (colorScheme, locale, viewport, title) => {
      const visitor = await Visitor.come(browser, shop.url, { colorScheme, locale, viewport });
      const { page } = visitor;
      await page.getByRole('heading', { name: title, exact: true }).waitFor();
      await page.locator('.order').first().waitFor();
      await page.locator('.invariants summary').click();
      expect(await violationsOn(page)).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
      await visitor.leave();
    },
  );

  it('on a phone the first button is on the first screen, and the guide leads to the others; nothing is done yet', async () => {
    const visitor = await Visitor.come(browser, shop.url, { viewport: PHONE });
    const { page } = visitor;
    await page.locator('.order').first().waitFor();
    const isSeen = (name: string): Promise<boolean> =>
      visitor.button(name).evaluate((button) => {
        const { top, bottom } = button.getBoundingClientRect();
        return top >= 0 && bottom <= 844;
      });
    expect(await isSeen('Place order')).toBe(true);
    expect(await page.locator('.guide li.done').count()).toBe(0);
    await page.getByRole('link', { name: 'Start a race.' }).click();
    await until(
      () => isSeen('Pay at the last moment'),
      (seen) => seen,
    );
    await visitor.leave();
  });

  it('keeps what the visitor chose: language and theme', async () => {
    const visitor = await Visitor.come(browser, shop.url, { colorScheme: 'light' });
    const { page } = visitor;
    await visitor.button('中文').click();
    await visitor.button('深色主题').click();
    await page.reload();
    await page.getByRole('heading', { name: '订单', exact: true }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    await visitor.leave();
  });

  it('moves nothing for whoever wants little motion', async () => {
    const visitor = await Visitor.come(browser, shop.url, { reducedMotion: 'reduce' });
    const moving = await visitor.page.evaluate(
      `[...document.querySelectorAll('*')].filter((element) => {
         const { transitionDuration, animationName } = getComputedStyle(element);
         return transitionDuration !== '0s' || animationName !== 'none';
       }).length`,
    );
    expect(moving).toBe(0);
    await visitor.leave();
  });

  it('says in the language of the visitor that an invariant is broken, loudly', async () => {
    const visitor = await Visitor.come(browser, shop.url);
    await shop.sql(`UPDATE sku SET stock = stock - 1 WHERE sku = 'TEA-GREEN'`);
    await visitor.seesInvariants('broken');
    const alert = visitor.page.getByRole('alert');
    await alert.filter({ hasText: /1 of \d+ invariants broken/ }).waitFor();
    await shop.sql(`UPDATE sku SET stock = stock + 1 WHERE sku = 'TEA-GREEN'`);
    await visitor.seesInvariants('hold');
    await visitor.leave();
  });

  it('says how old a check of the invariants is that is not fresh', async () => {
    const checkedAt = new Date(Date.now() - 3_600_000).toISOString();
    const latest = jest
      .spyOn(shop.app.get(InvariantsWatch), 'latest', 'get')
      .mockReturnValue({ ok: true, checks: [], checkedAt });
    const visitor = await Visitor.come(browser, shop.url);
    await visitor.seesText(/^checked \d\d:\d\d:\d\d, 60(\.\d)? min ago$/);
    latest.mockRestore();
    await visitor.seesText(/^checked \d\d:\d\d:\d\d$/);
    await visitor.leave();
  });
});
