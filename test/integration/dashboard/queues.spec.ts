import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule, DelayService, getDelaysToken, runMigrations } from 'nestjs-delay-queue';
import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import '../../support/delay-payloads.js';
import type { SearchPage, Session } from '../../support/dashboard-parts.js';

/** Several queues behind one dashboard: each has a page, and the pages lead to each other. */

let database: TestDatabase;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const connection = database.url;
  await runMigrations(connection, { schema: 'queue_eu' });

  @Module({
    imports: [
      DelayQueueModule.forRoot({ connection, worker: false }),
      DelayQueueModule.forRoot({ queue: 'eu', connection, schema: 'queue_eu', worker: false }),
      DelayQueueDashboardModule.forRoot({
        authorize: ({ headers }, { queue }) => {
          const only = headers['x-only'];
          return only === undefined || only === queue ? { who: 'anna', actions: 'all' } : null;
        },
      }),
    ],
  })
  class App {}

  app = await NestFactory.create(App, { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  url = `${await app.getUrl()}/delays`;
  await app.get(DelayService).schedule('test.default', 1, { after: '1h', key: 'here' });
  await app
    .get(getDelaysToken('eu'), { strict: false })
    .schedule('test.default', 1, { after: '1h', key: 'there' });
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

async function read<Body>(path: string, headers = {}): Promise<Body> {
  const response = await fetch(`${url}${path}`, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

it.each([
  ['', ['here'], [true, false]],
  ['/queue/eu', ['there'], [false, true]],
])('the page at %p shows its own queue and leads to the others', async (page, keys, isShown) => {
  const { delays: found } = await read<SearchPage>(`${page}/api/search`);
  expect(found.map(({ key }) => key)).toEqual(keys);
  const { queues } = await read<Session>(`${page}/api/session`);
  expect(queues.map(({ name }) => name)).toEqual(['default', 'eu']);
  expect(queues.map((each) => each.isShown)).toEqual(isShown);
  for (const { href } of queues) {
    const { href: there } = new URL(href, `${url}${page}/`);
    expect(await (await fetch(there)).text()).toContain('<!doctype html>');
  }
});

it('an address without its slash leads to the page', async () => {
  const response = await fetch(`${url}/queue/eu?q=a`, { redirect: 'manual' });
  expect(response.status).toBe(308);
  expect(response.headers.get('location')).toBe('eu/?q=a');
});

it('authorize decides about each queue', async () => {
  await read('/queue/eu/api/session', { 'x-only': 'eu' });
  for (const path of ['/api/session', '/queue/us/api/session']) {
    expect((await fetch(`${url}${path}`, { headers: { 'x-only': 'eu' } })).status).toBe(404);
  }
});
