import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Server } from 'node:http';
import type { Browser, Request } from 'playwright-core';
import { openBrowser } from '../page/support/visitor.js';
import { DashboardApp } from '../support/dashboard-app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { CLOSE } from './support/operated-queue.js';
import { Viewer } from './support/viewer.js';

let browser: Browser;
let database: TestDatabase;
let app: DashboardApp;
let viewer: Viewer;

beforeAll(async () => {
  browser = await openBrowser();
  database = await createTestDatabase();
  app = await start();
  viewer = await Viewer.come(browser, app.url);
}, 60_000);
afterAll(async () => {
  await viewer.leave();
  await browser.close();
  await app.stop();
  await database.drop();
});

let mayView = true;

const start = (port = 0): Promise<DashboardApp> =>
  DashboardApp.start({
    url: database.url,
    port,
    forceCloseConnections: true,
    dashboard: { authorize: () => (mayView ? { who: 'anna', actions: 'all' } : null) },
  });

const restart = async (): Promise<void> => {
  const port = Number(new URL(app.url).port);
  await app.stop();
  app = await start(port);
};

const schedule = (key: string): Promise<unknown> =>
  app.delays.schedule(CLOSE, null, { key, after: '30m' });

const seesLive = (count: string): Promise<void> =>
  viewer.page
    .locator('.figures div')
    .filter({ hasText: 'Live' })
    .filter({ hasText: count })
    .waitFor();

const hide = (isHidden: boolean): Promise<unknown> =>
  viewer.page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));`);

const streamEnds = (): Promise<void> =>
  new Promise((resolve) => {
    const ended = (request: Request): void => {
      if (request.url().endsWith('api/live')) resolve();
    };
    viewer.page.on('requestfinished', ended);
    viewer.page.on('requestfailed', ended);
  });

describe('the overview', () => {
  it('shows what happens while it is open', async () => {
    await seesLive('0');
    await schedule('a');
    await seesLive('1');
  });

  it('says that the server is gone, shows the last state, and goes on when it is back', async () => {
    const port = Number(new URL(app.url).port);
    await app.stop();
    await viewer.seesBanner('Connection lost. Reconnecting…');
    await viewer.seesBanner(/Showing the state as of \d\d:\d\d:\d\d\./);
    await seesLive('1');
    app = await start(port);
    await viewer.seesBanner(null);
    await schedule('b');
    await seesLive('2');
  });

  it('says nothing of a stream that ends, as each does after some minutes', async () => {
    await viewer.page.evaluate(`
      new MutationObserver(() => (window.hasSaid = true))
        .observe(document.querySelector('.banner-place'), { childList: true });`);
    const reopened = viewer.page.waitForRequest((request) => request.url().endsWith('api/live'));
    (app.app.getHttpServer() as Server).closeAllConnections();
    await reopened;
    await schedule('between');
    await seesLive('3');
    expect(await viewer.page.evaluate('window.hasSaid')).toBeUndefined();
  });

  it('says why there are no news when the server cannot read them', async () => {
    await app.dataSource.query('ALTER TABLE delay_queue.delay RENAME TO hidden');
    await viewer.seesBanner('The server failed. The error is in its log.');
    await app.dataSource.query('ALTER TABLE delay_queue.hidden RENAME TO delay');
    await viewer.seesBanner(null);
  });

  it('says that the login has ended, until there is one again', async () => {
    const signedIn = viewer.page.getByText('Signed in as anna');
    await signedIn.waitFor();
    mayView = false;
    await restart();
    await viewer.page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    expect(await signedIn.count()).toBe(0);
    mayView = true;
    await signedIn.waitFor();
    await viewer.seesBanner(null);
  });

  it('listens to nothing while it is hidden', async () => {
    const closed = streamEnds();
    await hide(true);
    await closed;
    const reopened = viewer.page.waitForRequest((request) => request.url().endsWith('api/live'));
    await schedule('c');
    await hide(false);
    await reopened;
    await seesLive('4');
    expect(await viewer.page.locator('.banner').count()).toBe(0);
  });
});
