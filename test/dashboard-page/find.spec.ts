import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { openBrowser } from '../page/support/visitor.js';
import { until } from '../support/until.js';
import { CLOSE, MAIL, MAILS, OperatedQueue, REFUND } from './support/operated-queue.js';
import { Viewer } from './support/viewer.js';

let browser: Browser;
let queue: OperatedQueue;
let viewer: Viewer;

beforeAll(async () => {
  browser = await openBrowser();
  queue = await OperatedQueue.open();
  await queue.plant();
  viewer = await Viewer.come(browser, queue.url);
}, 60_000);
afterAll(async () => {
  await viewer.leave();
  await browser.close();
  await queue.close();
});

const find = async (text: string): Promise<void> => {
  await viewer.press('/');
  await viewer.page.keyboard.type(text);
  await viewer.press('Enter');
};

describe('finding delays', () => {
  it('takes what is typed for a key first, across names, live and past', async () => {
    await viewer.open('');
    await find('order-1');
    await viewer.seesText('These delays have exactly this key.');
    await viewer.seesKeys(['order-1', 'order-1', 'order-1']);
    const names = await viewer.page.locator('td.name a').allTextContents();
    expect(names).toEqual(expect.arrayContaining([CLOSE, REFUND, 'test.remind']));
    await viewer.link('Its full story').click();
    await viewer.seesHeading('order-1');
    expect(viewer.query.get('key')).toBe('order-1');
  });

  it('has the filter in the address: chips come and go, back returns, and a copy of it opens the same', async () => {
    await viewer.open('?view=search');
    await find(MAIL);
    await viewer.seesText('These delays have that name.');
    await viewer.link('Dead').click();
    await viewer.seesText('Nothing matches');
    expect(Object.fromEntries(viewer.query)).toEqual({ view: 'search', q: MAIL, state: 'dead' });
    await viewer.link(`Remove Find ${MAIL}`).click();
    await viewer.seesKeys(['order-3', 'order-2', 'order-1']);
    const address = viewer.page.url();
    await viewer.page.goBack();
    await viewer.seesText('Nothing matches');
    const other = await Viewer.come(browser, queue.url, { query: new URL(address).search });
    await other.seesKeys(['order-3', 'order-2', 'order-1']);
    await other.leave();
  });

  it('filters by any field, and keeps the states', async () => {
    await viewer.open('?view=search&state=dead');
    await viewer.button('Filter…').click();
    await viewer.page.getByLabel('Error contains').fill('REFUSED');
    await viewer.page.getByLabel('Key begins with').fill('order-2');
    await viewer.button('Apply').click();
    await viewer.seesKeys(['order-2']);
    expect(Object.fromEntries(viewer.query)).toEqual({
      view: 'search',
      state: 'dead',
      error: 'REFUSED',
      keyPrefix: 'order-2',
    });
  });

  it('reads page after page', async () => {
    await viewer.open(`?view=search&name=${MAIL}`);
    const first = await viewer.keys();
    await viewer.link('Next page').click();
    const second = await until(
      () => viewer.keys(),
      (keys) => keys.length > 0 && keys[0] !== first[0],
    );
    expect(new Set([...first, ...second]).size).toBe(MAILS);
    await viewer.page.goBack();
    await viewer.seesKeys(first);
  });

  it('moves no row by itself, and reads again when asked', async () => {
    await viewer.open('?view=search&group=late');
    await viewer.seesText('Nothing matches');
    await queue.app.delays.schedule(MAIL, 1, { key: 'late-1', group: 'late', after: '40d' });
    await viewer.button('Refresh').click();
    await viewer.seesKeys(['late-1']);
    await queue.app.delays.schedule(MAIL, 1, { key: 'late-2', group: 'late', after: '41d' });
    await viewer.press('r');
    await viewer.seesKeys(['late-1', 'late-2']);
    await queue.sql(`DELETE FROM delay_queue.delay WHERE group_id = 'late'`);
  });

  it('selects rows by click, by Shift and by all, and says how many', async () => {
    await viewer.open(`?view=search&name=${MAIL}`);
    const box = (at: number) => viewer.rows.nth(at).getByRole('checkbox');
    await box(1).click();
    await box(4).click({ modifiers: ['Shift'] });
    await viewer.seesText('4 selected');
    await viewer.button(`Select all ${MAILS} that match`).click();
    await viewer.seesText('Everything that matches is selected');
    await viewer.button('Clear').click();
    expect(await viewer.page.getByText('selected').count()).toBe(0);
  });

  it('is all done by keys', async () => {
    await viewer.open('');
    await viewer.press('g', 's');
    await viewer.seesHeading('Delays');
    await viewer.press('g', 'o');
    await viewer.seesHeading('Names');
    await viewer.open(`?view=search&name=${MAIL}`);
    await viewer.press('j', 'j', 'k', 'j', 'x');
    await viewer.seesText('1 selected');
    expect(await viewer.rows.nth(1).getByRole('checkbox').isChecked()).toBe(true);
    await viewer.press('Enter');
    await viewer.seesHeading('mail-1');
    await viewer.press('?');
    await viewer.page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await viewer.press('Escape', '/');
    expect(await viewer.page.evaluate('document.activeElement.id')).toBe('search-field');
  });

  it('says what an empty answer means', async () => {
    await viewer.open('?view=search&key=nothing-has-it');
    await viewer.seesText('Nothing matches');
    await viewer.open('?view=delay&id=999999');
    await viewer.seesText('There is nothing here, or it is not yours to see.');
  });
});
