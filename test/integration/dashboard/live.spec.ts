import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DashboardApp } from '../../support/dashboard-app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { until } from '../../support/until.js';
import { LiveEventsReader } from './support/live-events.js';
import { grantOf, viewer } from './support/viewers.js';
import type { OperationLine, Overview, Problem } from '../../support/dashboard-parts.js';

let database: TestDatabase;
let dashboard: DashboardApp;

const start = (): Promise<DashboardApp> =>
  DashboardApp.start({
    url: database.url,
    options: { worker: false },
    dashboard: { authorize: grantOf },
  });

beforeAll(async () => {
  database = await createTestDatabase();
  dashboard = await start();
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

it('looks once for all who see the same, and apart for who sees less', async () => {
  const streams = await Promise.all(
    [{}, {}, viewer({ names: ['test.b'] })].map((who) => LiveEventsReader.open(dashboard, who)),
  );
  const [first, second, other] = await Promise.all(
    streams.map(async (stream) => {
      await stream.next('overview');
      return stream.next('overview');
    }),
  );
  expect(second).toEqual(first);
  expect(other && liveOf(other)).toEqual([['test.b', 0]]);
  for (const stream of streams) stream.close();
});

it('refuses more than fifty, until one is closed', async () => {
  const other = await start();
  const open = (): Promise<LiveEventsReader> => LiveEventsReader.open(other);
  const streams = await Promise.all(Array.from({ length: 50 }, open));
  const refused = await other.get<Problem>('api/live');
  expect(refused).toMatchObject({ status: 503, body: { problem: 'busy' } });
  streams.pop()?.close();
  // The server notices a moment later that a viewer has gone.
  const opened = await until(
    () => open().catch(() => null),
    (stream) => stream !== null,
  );
  opened?.close();
  for (const stream of streams) stream.close();
  await other.stop();
});

const isDone = ({ state }: OperationLine): boolean => state === 'done';

it('tells of operations to who began them, and to who sees all', async () => {
  const who = viewer({ who: 'ann', names: ['test.a'] });
  const [all, own, other] = await Promise.all(
    [{}, who, viewer({ who: 'bob', names: ['test.a'] })].map((each) =>
      LiveEventsReader.open(dashboard, each),
    ),
  );
  const order = { action: 'pause', name: 'test.a' };
  await dashboard.post<OperationLine>('api/operations', order, who);
  expect((await all?.next('operation', isDone))?.who).toBe('ann');
  expect((await own?.next('operation', isDone))?.who).toBe('ann');
  const looked = other?.next('overview', ({ pauses }) => pauses.length > 0);
  await expect(Promise.race([looked, other?.next('operation')])).resolves.toHaveProperty('pauses');
  for (const stream of [all, own, other]) stream?.close();
});

it('ends when the application closes', async () => {
  const other = await start();
  const stream = await LiveEventsReader.open(other);
  await stream.next('overview');
  const closing = other.stop();
  await expect(stream.end()).resolves.toBeUndefined();
  await closing;
});
