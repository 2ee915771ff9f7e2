import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { LiveEventsReader } from '../integration/dashboard/support/live-events.js';
import { DashboardApp } from '../support/dashboard-app.js';
import { until } from '../support/until.js';
import { OwnServer } from './support/own-server.js';
import type { Overview, Problem } from '../support/dashboard-parts.js';

let server: OwnServer;
let dashboard: DashboardApp;

beforeEach(async () => {
  server = await OwnServer.create({});
  await server.start();
  await server.migrate();
  dashboard = await DashboardApp.start({ url: server.url, options: { worker: false } });
  await dashboard.delays.schedule('test.a', { n: 1 }, { key: 'k', after: '1h' });
});
afterEach(async () => {
  await dashboard.stop();
  await server.remove();
});

const search = () => dashboard.get<Problem>('api/search?q=k');

it('a stream says that the database is gone, and goes on when it is back', async () => {
  const stream = await LiveEventsReader.open(dashboard);
  expect((await stream.next('overview')).names).toHaveLength(1);
  await server.crash();
  expect(await stream.next('problem')).toMatchObject({ problem: 'databaseGone' });
  expect(await search()).toMatchObject({ status: 503, body: { problem: 'databaseGone' } });
  await server.start();
  const back: Overview = await stream.next('overview');
  expect(back.names).toMatchObject([{ name: 'test.a', live: { count: 1, is: 'exact' } }]);
  await until(search, ({ status }) => status === 200);
  stream.close();
}, 60_000);

it('a look that takes too long is told to ask for less', async () => {
  const other = new Client({ connectionString: server.url });
  await other.connect();
  await other.query('BEGIN; LOCK TABLE delay_queue.delay IN ACCESS EXCLUSIVE MODE');
  expect(await search()).toMatchObject({ status: 503, body: { problem: 'slow' } });
  await other.query('ROLLBACK');
  expect((await search()).status).toBe(200);
  await other.end();
}, 60_000);
