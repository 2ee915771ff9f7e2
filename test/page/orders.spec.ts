import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { ORDERS_MAX } from '../../src/shop/feed/feed.js';
import { RunningShop } from '../e2e/support/running-shop.js';
import { openBrowser, Visitor } from './support/visitor.js';

const SHORT_MS = 2_500;

describe('orders on the page', () => {
  let browser: Browser;
  let shop: RunningShop;
  let visitor: Visitor;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  const visit = async (durations: Parameters<typeof RunningShop.open>[0] = {}): Promise<void> => {
    shop = await RunningShop.open({ demo: true, ...durations });
    visitor = await Visitor.come(browser, shop.url);
  };
  beforeEach(() => {
    visitor = undefined as unknown as Visitor;
  });
  afterEach(async () => {
    await visitor.leave();
    await shop.mustHold();
    await shop.close();
  });

  it('has words while there is nothing to show', async () => {
    await visit();
    await visitor.seesText('No order yet.');
    await visitor.seesText('Fills as delays fire.');
    await visitor.seesText('Nothing yet.');
  });

  it('closes an order that nobody pays, and its stock is back', async () => {
    await visit({ payWithinMs: SHORT_MS });
    await visitor.seesStock('Cup, white porcelain', '200 of 200');

    const no = await visitor.place();
    await visitor.sees(no, /closes in \d/);
    await visitor.seesStock('Cup, white porcelain', '198 of 200');

    await visitor.sees(no, /Closed.*not paid in time · [\d.,]+ ms late/);
    await visitor.seesStock('Cup, white porcelain', '200 of 200');
    await visitor.sees(no, /order\.close fired/);
    await visitor.sees(no, /stock\s\+2/);
  });

  it('takes an order through to five stars that come by themselves', async () => {
    await visit({ rateAfterMs: 1_000 });
    const no = await visitor.place();
    await visitor.act(no, 'Pay');
    await visitor.sees(no, /Paid/);
    await visitor.sees(no, /order\.close cancelled/);
    await visitor.act(no, 'Ship');
    await visitor.sees(no, /confirms itself in/);
    await visitor.act(no, 'Extend');
    await visitor.sees(no, /time to confirm extended/);
    await visitor.act(no, 'Confirm');
    await visitor.sees(no, /Completed.*by itself/);
    await visitor.order(no).getByRole('img', { name: '5 stars' }).waitFor();
  });

  it('freezes an order under dispute and lets it go on', async () => {
    await visit();
    const no = await visitor.place();
    await visitor.act(no, 'Pay');
    await visitor.act(no, 'Dispute');
    await visitor.sees(no, /Disputed/);
    await visitor.act(no, 'Release');
    await visitor.sees(no, /dispute over/);
  });

  it('shows what becomes of the visitor’s own orders while others crowd them out', async () => {
    await visit();
    const no = await visitor.place();
    const raced = await visitor.race('Pay after the close');
    const sku = await shop.newSku({ stock: 1_000 });
    for (let placed = 0; placed < 2 * ORDERS_MAX; placed++) await shop.place(sku);
    await visitor.order(raced + 2 * ORDERS_MAX).waitFor();
    const [own] = await shop.sql<{ id: string }[]>('SELECT id FROM orders WHERE no = $1', [no]);
    await shop.act(own!.id, 'cancel');
    await visitor.sees(no, /Closed.*cancelled by the buyer/);
    await visitor.sees(raced, /Closed.*Refunded 2\.00/);
    // Those of nobody here make room.
    await visitor.order(raced + 1).waitFor({ state: 'detached' });
  });

  it('says in the language of the visitor why there is a dispute', async () => {
    await visit();
    const no = await visitor.place();
    await visitor.act(no, 'Pay');
    await visitor.act(no, 'Dispute');
    await visitor.seesText('The pot arrived broken');
    await visitor.button('中文').click();
    await visitor.seesText('茶壶到货时已破损');
    expect(await visitor.page.getByText('The pot arrived broken').count()).toBe(0);
  });

  it('says where the button is why the shop refuses', async () => {
    await visit();
    const no = await visitor.place();
    const [id] = await shop.sql<{ id: string }[]>('SELECT id FROM orders WHERE no = $1', [no]);
    // What this visitor does not know yet when they press the button.
    await visitor.page.route('**/pay', async (route) => {
      await shop.act(id!.id, 'cancel');
      await route.continue();
    });
    await visitor.act(no, 'Pay');
    await visitor.seesRefusal(no, 'Refused:');
  });

  it('is done with the keyboard alone, and the focus is never lost', async () => {
    await visit();
    const { keyboard } = visitor.page;
    const focused = () =>
      visitor.page.evaluate(
        `document.activeElement.getAttribute('aria-label') || document.activeElement.textContent`,
      );
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; (await focused()) !== name; presses += 1) {
        if (presses > 60) throw new Error(`Tab does not lead to ${name}`);
        await keyboard.press('Tab');
      }
    };
    await keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the orders');
    await tabTo('Place order');
    await keyboard.press('Enter');
    await visitor.sees(1001, /closes in/);
    await tabTo('Pay');
    await keyboard.press('Enter');
    await visitor.sees(1001, /waits to be shipped/);
    expect(await focused()).toBe('Ship');
    await keyboard.press('Enter');
    await visitor.sees(1001, /confirms itself/);
    expect(await focused()).toBe('Confirm');
  });
});
