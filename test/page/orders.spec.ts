import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { ORDERS_MAX } from '../../src/shop/feed/feed.js';
import { BEGINS_MS, RACE_TERMS } from '../../src/shop/races/races.js';
import { atOnce } from '../e2e/support/at-once.js';
import { RunningShop } from '../e2e/support/running-shop.js';
import { until } from '../support/until.js';
import { openBrowser, Visitor } from './support/visitor.js';

/** More than the feed tells of. */
const BACKLOG = ORDERS_MAX + 2;

describe('the page', () => {
  const shop = RunningShop.forAll({ payWithinMs: 1_200_000, rateAfterMs: 1_000 });
  let browser: Browser;
  let visitor: Visitor;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    visitor = await Visitor.come(browser, shop.url);
  });
  afterEach(() => visitor.leave());

  const idOf = async (no: number): Promise<string> => {
    const [order] = await shop.sql<{ id: string }[]>('SELECT id FROM orders WHERE no = $1', [no]);
    return order!.id;
  };

  const nothing = ['No order yet.', 'Fills as delays fire.', 'Nothing yet.'];

  it('has words while there is nothing to show; closes an order that nobody pays, and its stock is back', async () => {
    for (const words of nothing) await visitor.seesText(words);
    await visitor.seesStock('Cup, white porcelain', '200 of 200');
    const no = await visitor.place();
    await visitor.sees(no, /closes in \d/);
    await visitor.seesStock('Cup, white porcelain', '198 of 200');

    await shop.fallsDue('order.close', await idOf(no));
    await visitor.sees(no, /Closed.*not paid in time · [\d.,]+ ms late/);
    await visitor.seesStock('Cup, white porcelain', '200 of 200');
    await visitor.sees(no, /order\.close fired/);
    await visitor.sees(no, /stock\s\+2/);
  });

  it('takes an order through a dispute to five stars that come by themselves, in the visitor’s language', async () => {
    const no = await visitor.place();
    const does = async (action: string, ...seen: RegExp[]): Promise<void> => {
      await visitor.act(no, action);
      for (const words of seen) await visitor.sees(no, words);
    };
    await does('Pay', /Paid/, /order\.close cancelled/);
    await does('Dispute', /Disputed/, /The pot arrived broken/);
    await visitor.button('中文').click();
    await visitor.seesText('茶壶到货时已破损');
    expect(await visitor.page.getByText('The pot arrived broken').count()).toBe(0);
    await visitor.button('English').click();
    await does('Release', /dispute over/);
    await does('Ship', /confirms itself in/);
    await does('Extend', /time to confirm extended/);
    await does('Confirm', /Completed.*by itself/);
    await visitor.order(no).getByRole('img', { name: '5 stars' }).waitFor();
  });

  it('reminds a merchant of what waits to be shipped, and sends the campaigns of both side by side', async () => {
    const merchant = visitor.page.locator('.merchant').filter({ hasText: 'The tea house' });
    await merchant.filter({ hasText: /Shanghai.*next in [\d:]+/ }).waitFor();
    const no = await visitor.place();
    await visitor.act(no, 'Pay');
    await visitor.sees(no, /waits to be shipped/);
    await visitor.button('Remind now: The tea house').click();
    await merchant.filter({ hasText: /Told at [\d:]+: \d+ paid orders? waits? to be/ }).waitFor();

    const campaigns = visitor.page.locator('.campaign').filter({ hasText: 'Sending' });
    for (const name of ['The tea house', 'The kiln']) {
      await visitor.button(`Text 200 made-up buyers of ${name}`).click();
      await campaigns.filter({ hasText: `${name}: New teas have arrived` }).waitFor();
    }
    expect(await campaigns.count()).toBe(2);
    for (const id of ['1', '2']) await shop.post(`/campaigns/${id}/stop`);
    await campaigns.first().waitFor({ state: 'detached' });
  });

  it('says where the button is why the shop refuses', async () => {
    const no = await visitor.place();
    const id = await idOf(no);
    // What this visitor does not know yet when they press the button.
    await visitor.page.route('**/pay', async (route) => {
      await shop.act(id, 'cancel');
      await route.continue();
    });
    await visitor.act(no, 'Pay');
    await visitor.seesRefusal(no, 'Refused:');
  });

  it('is done with the keyboard alone, and the focus is never lost', async () => {
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
    const no = (await visitor.newest()) + 1;
    await tabTo('Place order');
    await keyboard.press('Enter');
    await visitor.sees(no, /closes in/);
    await tabTo('Pay');
    await keyboard.press('Enter');
    await visitor.sees(no, /waits to be shipped/);
    expect(await focused()).toBe('Ship');
    await keyboard.press('Enter');
    await visitor.sees(no, /confirms itself/);
    expect(await focused()).toBe('Confirm');
  });

  it('shows races that are paid or refunded, never both, also when the refund fails for a while', async () => {
    Object.assign(RACE_TERMS, { payWithinMs: 1_500 });
    // A busy machine may begin late, and has begun before the deadline all the same.
    Object.assign(BEGINS_MS, { 'close-while-paid': -1_400 });
    await visitor.button('Make refunds fail for 20 s').click();
    await visitor.seesText(/Refunds fail for another/);
    // And for as long as it takes to see that.
    await shop.send('PUT', '/sample-provider', '{"refunds":"fail"}');
    const lastMoment = await visitor.race('Pay at the last moment');
    const afterClose = await visitor.race('Pay after the close');
    const whilePaid = await visitor.race('Close while it is being paid');

    await visitor.sees(whilePaid, /Paid.*waits to be shipped/);
    await visitor.sees(afterClose, /Refund pending/);
    await visitor.sees(afterClose, /refund: attempt \d+ failed · .+ · next attempt in/);
    await visitor.button(`Timeline of order #${afterClose}`).click();
    await visitor.sees(afterClose, /payment\.refund retrying\s*attempt \d+ failed: .+/);
    await shop.send('PUT', '/sample-provider', '{"refunds":"work"}');
    await visitor.sees(afterClose, /Closed.*Refunded 2\.00/);
    await visitor.sees(lastMoment, /Paid.*waits to be shipped|Closed.*Refunded 2\.00/);
    await visitor.seesText(/All \d+ invariants hold/);
    const figures = /delays fired\. Half were late by at most/;
    await visitor.page.getByRole('img', { name: figures }).waitFor();

    for (const no of [lastMoment, afterClose, whilePaid]) {
      const { status, payments, payDeadline, timeline } = await shop.order(await idOf(no));
      const money = status === 'PAID' ? 'CAPTURED' : 'REFUNDED';
      expect(payments).toMatchObject([{ status: money }]);
      const afterDeadlineMs = (at: string) => Date.parse(at) - Date.parse(payDeadline);
      // By the database's clock; how much after the instant it arrives is the machine's affair.
      const capturedMs = afterDeadlineMs(payments[0]!.capturedAt);
      expect(capturedMs).toBeGreaterThanOrEqual(no === lastMoment ? -10 : 0);
      // The payment that had begun is kept.
      const paid = timeline.find(({ event }) => event === 'order paid');
      expect(no !== whilePaid || afterDeadlineMs(paid!.at) < 0).toBe(true);
    }
  });

  it('its page may start a race', async () => {
    const { origin } = new URL(shop.url);
    const answer = await shop.send('POST', '/races/pay-after-the-close', undefined, { origin });
    expect(answer.status).toBe(202);
  });

  it('goes on without a reload when the shop was stopped and started: the countdown is right', async () => {
    const no = await visitor.place();
    const secondsLeft = async (): Promise<number> => {
      const text = await visitor.order(no).locator('.next').innerText();
      const [, minutes, seconds] = /closes in (\d+):(\d+)/.exec(text) ?? [];
      return Number(minutes) * 60 + Number(seconds);
    };
    const secondsDue = async (): Promise<number> => {
      const { payDeadline, serverNow } = await shop.order(await idOf(no));
      return (Date.parse(payDeadline) - Date.parse(serverNow)) / 1_000;
    };
    await shop.stop();
    await visitor.seesText('Connection lost. Reconnecting…');
    const whileAway = await secondsLeft();
    await shop.start();
    await visitor.page.locator('.liveness.live').waitFor();
    const before = await secondsDue();
    const left = await until(secondsLeft, (seconds) => seconds < whileAway);
    const after = await secondsDue();
    // Whole seconds, by the server's clock as quickly as the page was told of it.
    expect(left).toBeLessThanOrEqual(before + 1);
    expect(left).toBeGreaterThanOrEqual(after - 2);
    await visitor.act(no, 'Pay');
    await visitor.sees(no, /Paid/);
  });

  it('shows what becomes of the visitor’s own orders while others crowd them out', async () => {
    const no = await visitor.place();
    const sku = await shop.newSku({ stock: 1_000 });
    await atOnce(BACKLOG, () => shop.place(sku));
    await visitor.order(no + BACKLOG).waitFor();
    await shop.act(await idOf(no), 'cancel');
    await visitor.sees(no, /Closed.*cancelled by the buyer/);
    // Those of nobody here make room.
    await visitor.order(no + 1).waitFor({ state: 'detached' });
  });
});
