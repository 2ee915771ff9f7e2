import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DashboardApp } from '../support/dashboard-app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { readDocument } from './documents.js';
import { unpack, type Unpacked } from './unpacked.js';
import {
  DASHBOARD_ACTIONS,
  type DelayView,
  type SearchPage,
  type Session,
} from '../support/dashboard-parts.js';

const PAGE = readDocument('docs/dashboard.md');

let database: TestDatabase;
let blocks: Unpacked;
let dashboard: DashboardApp | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
  blocks = unpack(PAGE);
});
afterEach(async () => {
  await dashboard?.stop();
  dashboard = undefined;
});
afterAll(async () => {
  blocks.remove();
  await database.drop();
});

const load = (file: string) =>
  import(pathToFileURL(join(blocks.folder, file)).href) as Promise<Record<string, any>>;

it('dashboard.md: the viewer is whom the application knows, and may do what the page says', async () => {
  const { delaysDashboard } = await load('delays-dashboard.ts');
  dashboard = await DashboardApp.start({
    url: database.url,
    module: delaysDashboard,
    prepare: (host) => {
      host.use(
        (
          asked: { headers: Record<string, string>; user?: object },
          _: unknown,
          next: () => void,
        ) => {
          const { email } = asked.headers;
          if (email !== undefined) asked.user = { email, isSupport: email.startsWith('support') };
          next();
        },
      );
    },
  });
  const seenBy = (email: string) => dashboard!.get<Session>('api/session', { email });
  expect((await dashboard.get('api/session')).status).toBe(404);
  expect((await seenBy('boss@shop.example')).body).toMatchObject({
    who: 'boss@shop.example',
    actions: DASHBOARD_ACTIONS,
    environment: { label: 'production', tone: 'danger' },
  });
  expect((await seenBy('support@shop.example')).body.actions).toEqual(['view', 'retry', 'runNow']);
});

/** As by a session. */
const userOf = async ({ headers: { email } }: { headers: Record<string, unknown> }) =>
  email && { email, isSupport: false };

it('dashboard.md: on Fastify, a hook of the adapter says who asks', async () => {
  const [{ delaysDashboard }, { adapterThatKnows }] = await Promise.all([
    load('delays-dashboard.ts'),
    load('fastify-adapter.ts'),
  ]);
  dashboard = await DashboardApp.start({
    url: database.url,
    module: delaysDashboard,
    server: adapterThatKnows(userOf),
    // As @fastify/compress or a session's plugin would be, registered later: it runs behind the dashboard.
    prepare: (host) => {
      host
        .getHttpAdapter()
        .getInstance()
        .addHook('onRequest', async (request: { raw: object }) => {
          Object.assign(request.raw, { user: { email: 'nobody', isSupport: false } });
        });
    },
  });
  expect((await dashboard.get('api/session')).status).toBe(404);
  const { body } = await dashboard.get<Session>('api/session', { email: 'boss@shop.example' });
  expect(body.who).toBe('boss@shop.example');
});

it('dashboard.md: a card is never shown', async () => {
  const { redact } = await load('payloads.ts');
  dashboard = await DashboardApp.start({ url: database.url, dashboard: { redact } });
  const payload = { paymentId: '7', card: '4111 1111 1111 1111' };
  await dashboard.delays.schedule('payment.refund', payload, { key: '42', after: '1h' });
  const { body: page } = await dashboard.get<SearchPage>('api/search?key=42');
  const { body } = await dashboard.get<DelayView>(`api/delay?id=${page.delays[0]?.id}`);
  expect(body.payload).toEqual({
    is: 'redacted',
    json: expect.stringMatching(/"card": ?"•••"/),
  });
  expect(JSON.stringify(body)).not.toContain('4111 1111');
});

it('dashboard.md: the table has all actions, in their order', () => {
  const actions = [...PAGE.text.matchAll(/^\| `(\w+)` +\| /gm)].map(([, action]) => action);
  expect(actions).toEqual(DASHBOARD_ACTIONS);
});
