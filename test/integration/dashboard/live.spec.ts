import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Overview } from '../../../src/delay-queue/dashboard/contract.js';
import { DashboardApp } from '../../support/dashboard-app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { LiveEventsReader } from './support/live-events.js';
import { grantOf, viewer } from './support/viewers.js';

let database: TestDatabase;
let dashboard: DashboardApp;

beforeAll(async () => {
  database = await createTestDatabase();
  dashboard = await DashboardApp.start({
    url: database.url,
    options: { worker: false },
    dashboard: { authorize: grantOf },
  });
});
afterAll(async () => {
  await dashboard.stop();
  await database.drop();
});

const liveOf = ({ names }: Overview): [string, number][] =>
  names.map(({ name, live }) => [name, live.count]);

it('tells at once what there is, and then what has changed', async () => {
  const stream = await LiveEventsReader.open(dashboard);
  expect(liveOf(await stream.next('overview'))).toEqual([]);
  await dashboard.delays.schedule('test.a', { n: 1 }, { key: 'k', after: '1h' });
  const changed = await stream.next('overview', (overview) => overview.names.length > 0);
  expect(liveOf(changed)).toEqual([['test.a', 1]]);
  stream.close();
});

it('tells each viewer what is theirs', async () => {
  const stream = await LiveEventsReader.open(dashboard, viewer({ names: ['test.b'] }));
  expect(liveOf(await stream.next('overview'))).toEqual([['test.b', 0]]);
  stream.close();
});
