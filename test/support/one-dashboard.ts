import { afterAll, beforeAll } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './database.js';
import { DashboardApp, type DashboardSetup } from './dashboard-app.js';

/**
 * One dashboard, of an application that runs nothing, on a database of its own for all tests of a file.
 * @param planted SQL, before the first test
 */
export function oneDashboard(setup: Omit<DashboardSetup, 'url'>, planted = ''): DashboardApp {
  let database: TestDatabase;
  let dashboard: DashboardApp;

  beforeAll(async () => {
    database = await createTestDatabase();
    const options = { worker: false, ...setup.options };
    dashboard = await DashboardApp.start({ url: database.url, ...setup, options });
    if (planted !== '') await dashboard.dataSource.query(planted);
  });

  afterAll(async () => {
    await dashboard.stop();
    await database.drop();
  });

  return new Proxy({} as DashboardApp, {
    get: (_, key) => {
      const value: unknown = Reflect.get(dashboard, key);
      return typeof value === 'function' ? (value.bind(dashboard) as unknown) : value;
    },
  });
}
