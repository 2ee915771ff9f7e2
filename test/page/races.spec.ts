import { afterAll, beforeAll, describe, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { RunningShop } from '../e2e/support/running-shop.js';
import { openBrowser, Visitor } from './support/visitor.js';

describe('races that a visitor starts', () => {
  const shop = RunningShop.forAll({ demo: true });
  let browser: Browser;
  let visitor: Visitor;

  beforeAll(async () => {
    browser = await openBrowser();
    visitor = await Visitor.come(browser, shop.url);
  });
  afterAll(async () => {
    await visitor.leave();
    await browser.close();
  });

  // Each takes five seconds, so all of them run at once.
  it('are paid or refunded, also when the refund fails for a while', async () => {
    await visitor.button('Make refunds fail for 20 s').click();
    await visitor.seesText(/Refunds fail for another/);
    const lastMoment = await visitor.race('Pay at the last moment');
    const afterClose = await visitor.race('Pay after the close');
    const whilePaid = await visitor.race('Close while it is being paid');

    await visitor.sees(whilePaid, /Paid.*waits to be shipped/);
    await visitor.sees(afterClose, /Refund pending/);
    await shop.send('PUT', '/sample-provider', '{"refunds":"work"}');
    await visitor.sees(afterClose, /Closed.*Refunded 2\.00/);
    await visitor.sees(lastMoment, /Paid.*waits to be shipped|Closed.*Refunded 2\.00/);
    await visitor.page
      .getByText(/All \d+ invariants hold/)
      .first()
      .waitFor();
    await visitor.page
      .getByRole('img', { name: /delays fired\. Half were late by at most/ })
      .waitFor();
  });
});
