import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { SupervisedShop } from '../e2e/support/supervised-shop.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { openBrowser, Visitor } from './support/visitor.js';

describe('processes on the page', () => {
  let browser: Browser;
  let database: TestDatabase;
  let shop: SupervisedShop;
  let visitor: Visitor;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    database = await createEmptyDatabase();
    shop = await SupervisedShop.start(database.url);
    visitor = await Visitor.come(browser, shop.url);
  });
  afterEach(async () => {
    await visitor.leave();
    await shop.stop();
    await database.drop({ force: true });
  });

  const process = (name: string) => visitor.page.locator(`[data-process="${name}"]`);
  it('one that is killed is seen dead, and is back by itself', async () => {
    // The one that sends this page, which makes it harder.
    const name = /shop-\d/.exec(await visitor.page.locator('.liveness').innerText())![0];
    const pid = await process(name).locator('.note').first().innerText();
    await visitor.button(`Kill this process: ${name}`).click();
    // It is dead for a second or so; a busy machine may hear of that afterwards only.
    await visitor.seesText(`${name} died`);
    await process(name).filter({ hasText: 'Up' }).filter({ hasNotText: pid }).waitFor();
    const no = await visitor.place();
    await visitor.act(no, 'Pay');
    await visitor.sees(no, /Paid/);
  });
});
