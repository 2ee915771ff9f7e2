import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { FeedClient } from '../e2e/support/feed-client.js';
import { SupervisedShop } from '../e2e/support/supervised-shop.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { openBrowser, Visitor } from './support/visitor.js';

/** Whatever the machine is busy with, the order is still open when the shop is back. */
const DURATIONS = { ORDER_PAY_WITHIN: '20m' };

/** The page shows whole seconds, and has the server's clock as quickly as it was told of it. */
const ROUNDING_S = 1;

describe('processes on the page', () => {
  let browser: Browser;
  let database: TestDatabase;
  let shop: SupervisedShop;
  let visitor: Visitor;

  beforeAll(async () => {
    browser = await openBrowser();
    database = await createEmptyDatabase();
    shop = await SupervisedShop.start(database.url, DURATIONS);
    visitor = await Visitor.come(browser, shop.url);
  });
  afterAll(async () => {
    await visitor.leave();
    await browser.close();
    if (shop.process.running) await shop.stop();
    await database.drop({ force: true });
  });

  const process = (name: string) => visitor.page.locator(`[data-process="${name}"]`);
  const secondsLeft = async (no: number): Promise<number> => {
    const text = await visitor.order(no).locator('.next').innerText();
    const [, minutes, seconds] = /closes in (\d+):(\d+)/.exec(text) ?? [];
    return Number(minutes) * 60 + Number(seconds);
  };
  /** By the server, of the newest order. */
  const secondsDue = async (): Promise<number> => {
    const client = await FeedClient.open(shop.url);
    const { orders, serverNow } = await client.when(() => true);
    client.close();
    return (Date.parse(orders[0]!.payDeadline) - Date.parse(serverNow)) / 1_000;
  };

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

  it('all of them stopped and started again: the countdown is right, without a reload', async () => {
    const no = await visitor.place();
    const { port } = new URL(shop.url);
    await shop.stop();
    await visitor.seesText('Connection lost. Reconnecting…');
    const whileAway = await secondsLeft(no);

    shop = await SupervisedShop.start(database.url, { ...DURATIONS, PORT: port });
    await visitor.page.locator('.liveness.live').waitFor();
    const before = await secondsDue();
    const left = await secondsLeft(no);
    const after = await secondsDue();
    expect(whileAway).toBeGreaterThan(left);
    expect(left).toBeLessThanOrEqual(before + ROUNDING_S);
    expect(left).toBeGreaterThanOrEqual(after - ROUNDING_S - 1);
    await visitor.act(no, 'Pay');
    await visitor.sees(no, /Paid/);
    await shop.stop();
  });
});
