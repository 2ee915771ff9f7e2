import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RequestMethod } from '@nestjs/common';
import type { Session } from '../../../src/delay-queue/dashboard/contract.js';
import { DashboardApp, type DashboardSetup } from '../../support/dashboard-app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

let database: TestDatabase;
let dashboard: DashboardApp | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await dashboard?.stop();
  dashboard = undefined;
});
afterAll(() => database.drop());

const start = async (setup: Omit<DashboardSetup, 'url'> = {}): Promise<DashboardApp> => {
  dashboard = await DashboardApp.start({ url: database.url, ...setup });
  return dashboard;
};

describe.each(['express', 'fastify'] as const)('on %s', (server) => {
  it('stands at its path, and the address without a slash leads to it', async () => {
    const app = await start({ server });
    const { status, headers } = await app.get(`${app.url.slice(0, -1)}?view=dead`);
    expect(status).toBe(308);
    expect(headers.get('location')).toBe('delays/?view=dead');
    const session = await app.get<Session>('api/session');
    expect(session).toMatchObject({ status: 200, body: { who: 'tester', names: null } });
  });

  it('stands below the global prefix', async () => {
    const app = await start({ server, prepare: (host) => host.setGlobalPrefix('internal') });
    expect((await app.get('/delays/api/session')).status).toBe(404);
    expect((await app.get('/internal/delays/api/session')).status).toBe(200);
  });

  it('stands beside a global prefix that excludes it', async () => {
    const exclude = [{ path: 'delays', method: RequestMethod.ALL }];
    const app = await start({
      server,
      prepare: (host) => host.setGlobalPrefix('api', { exclude }),
    });
    expect((await app.get('/delays/api/session')).status).toBe(200);
    expect((await app.get('/api/delays/api/session')).status).toBe(404);
  });

  it('does not exist for a viewer who is refused', async () => {
    const app = await start({ server, dashboard: { authorize: () => null } });
    for (const path of ['', 'page.js', 'api/session']) {
      expect(await app.get(path)).toMatchObject({ status: 404, body: { problem: 'notFound' } });
    }
  });
});
