import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { SupervisedShop, untilDead } from '../e2e/support/supervised-shop.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { openBrowser, Visitor } from './support/visitor.js';

let browser: Browser;
let database: TestDatabase;
let shop: SupervisedShop;

beforeAll(async () => {
  database = await createTestDatabase();
  browser = await openBrowser();
  shop = await SupervisedShop.start(database.url, { LOG_LEVEL: 'log' });
});
afterAll(async () => {
  await browser.close();
  if (shop.process.running) await shop.stop();
  await database.drop({ force: true });
});

it('a process that is killed on the page is seen dead, and is back by itself', async () => {
  const visitor = await Visitor.come(browser, shop.url);
  const process = (name: string) => visitor.page.locator(`[data-process="${name}"]`);
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
  await visitor.leave();
});

it('an order whose paying process is killed closes, and the page says that the payment broke off', async () => {
  const visitor = await Visitor.come(browser, shop.url);
  const no = await visitor.race('Close while it is being paid');
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const payer = await until(
    async () => {
      const { rows } = await client.query<{ leased_by: string | null }>(
        `SELECT leased_by FROM delay_queue.delay WHERE name = 'race.pay'`,
      );
      return rows[0]?.leased_by;
    },
    (node) => typeof node === 'string',
  );
  await client.end();
  const { pid } = (await shop.processes()).find(({ name }) => name === payer)!;
  process.kill(pid!, 'SIGKILL');
  await visitor.sees(no, /Closed.*payment broke off: its process died/);
  await visitor.leave();
});

it('processes print their log, each line with its process, and end with their supervisor, however that one ends', async () => {
  const [pids, names] = [await shop.pids(), await shop.names()];
  for (const name of names) {
    expect(shop.process.output).toContain(`${name} info [NestFactory] Starting Nest application`);
  }
  await shop.process.kill('SIGKILL');
  await untilDead(pids);
});
