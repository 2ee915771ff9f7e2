import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type INestApplication, Module, RequestMethod } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { DashboardApp, type DashboardSetup } from '../../support/dashboard-app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { signal } from '../../support/delay-node.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import type { Problem, Session } from '../../support/dashboard-parts.js';

let database: TestDatabase;
let dashboard: DashboardApp | undefined;
let proxy: Server | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  proxy?.close();
  await dashboard?.stop();
  dashboard = proxy = undefined;
});
afterAll(() => database.drop());

async function start(setup: Omit<DashboardSetup, 'url'> = {}): Promise<DashboardApp> {
  dashboard = await DashboardApp.start({ url: database.url, ...setup });
  return dashboard;
}

/** A proxy that serves the application below `/tools/shop`, and tells it nothing of that. */
async function behindProxy(app: DashboardApp): Promise<string> {
  const { port } = new URL(app.url);
  proxy = createServer((asked, answer) => {
    const path = (asked.url ?? '').replace(/^\/tools\/shop/, '');
    const { method, headers } = asked;
    const passed = request({ host: '127.0.0.1', port, path, method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 0, got.headers);
      got.pipe(answer);
    });
    asked.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/tools/shop/delays`;
}

const asUser = ({ user }: IncomingMessage & { user?: string }) =>
  user === undefined ? null : { who: user, actions: 'all' as const };

/** As middleware for sessions does. */
function loggingIn(host: INestApplication): void {
  host.use((asked: { user?: string; url: string }, _: unknown, next: () => void) => {
    asked.user = new URLSearchParams(asked.url.split('?')[1]).get('user') ?? undefined;
    next();
  });
}

const failing = (): never => {
  throw new Error('the session store is away');
};

describe.each(['express', 'fastify'] as const)('on %s', (server) => {
  it('stands at its path, and the address without a slash leads to it', async () => {
    const app = await start({ server });
    const { status, headers } = await app.get(`${app.url.slice(0, -1)}?view=story&key=a?b`);
    expect([status, headers.get('location')]).toEqual([308, 'delays/?view=story&key=a%3Fb']);
    const session = await app.get<Session>('api/session');
    expect(session).toMatchObject({ status: 200, body: { who: 'tester', names: null } });
    for (const path of ['/', '/delaysx', '/delays/x/api/session', '/x/delays/api/session']) {
      expect((await app.get<{ message: string }>(path)).body.message).toBe(`Cannot GET ${path}`);
    }
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

  it('works behind a proxy that takes away a part of the path', async () => {
    const url = await behindProxy(await start({ server }));
    const page = await fetch(url);
    expect([page.status, page.url]).toEqual([200, `${url}/`]);
    const script = /src="([^"]+)"/.exec(await page.text())?.[1] ?? '';
    expect((await fetch(new URL(script, page.url))).status).toBe(200);
    expect((await fetch(new URL('api/session', page.url))).status).toBe(200);
  });

  it('does not exist for a viewer who is refused', async () => {
    const app = await start({ server, dashboard: { authorize: () => undefined } });
    for (const path of ['', 'page.js', 'api/session']) {
      expect(await app.get(path)).toMatchObject({ status: 404, body: { problem: 'notFound' } });
    }
  });

  it('stands behind what the host has put before its routes', async () => {
    const app = await start({ server, dashboard: { authorize: asUser }, prepare: loggingIn });
    expect((await app.get('api/session')).status).toBe(404);
    expect((await app.get<Session>('api/session?user=anna')).body.who).toBe('anna');
  });

  it('answers a failing authorize with a failure, and logs it', async () => {
    const logger = new RecordingLogger();
    const prepare = (host: INestApplication): void => host.useLogger(logger);
    const app = await start({ server, dashboard: { authorize: failing }, prepare });
    const { status, body } = await app.get<Problem>('');
    expect([status, body.problem]).toEqual([500, 'failed']);
    expect(JSON.stringify(body)).not.toContain('session store');
    expect(logger.lines('error').join('\n')).toMatch(/the session store is away/);
  });

  it('has files that a browser keeps until they change', async () => {
    const app = await start({ server });
    const plain = await fetch(`${app.url}page.css`, { headers: { 'accept-encoding': 'identity' } });
    const etag = plain.headers.get('etag')!;
    expect(plain.headers.get('cache-control')).toBe('no-cache');
    expect(plain.headers.get('content-type')).toBe('text/css; charset=utf-8');
    for (const known of [etag, `W/${etag}`, `"of-yesterday", ${etag}`]) {
      const again = await fetch(`${app.url}page.css`, { headers: { 'if-none-match': known } });
      expect([known, again.status, await again.text()]).toEqual([known, 304, '']);
    }
    const old = await fetch(`${app.url}page.css`, { headers: { 'if-none-match': '"old"' } });
    expect([old.status, await old.text()]).toEqual([200, await plain.clone().text()]);
    const head = await fetch(`${app.url}page.css`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const packed = await rawGet(`${app.url}page.css`, { 'accept-encoding': 'br, gzip' });
    expect(gunzipSync(packed).toString()).toBe(await plain.text());
    for (const name of ['page.map', 'constructor.js', '__proto__.js', '..%2Fpackage.js']) {
      expect((await app.get(name)).status).toBe(404);
    }
  });
});

function rawGet(url: string, headers: Record<string, string>): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (got) => {
      const chunks: Buffer[] = [];
      got.on('data', (chunk: Buffer) => chunks.push(chunk));
      got.on('end', () => resolve(Buffer.concat(chunks)));
    })
      .on('error', reject)
      .end();
  });
}

it('takes no connection of the application, and the start none of its own', async () => {
  const app = await start({ poolMax: 1 });
  const sessions = (): Promise<{ own: string }[]> =>
    app.dataSource.query(
      `SELECT count(*) AS own FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE '%dashboard'`,
    );
  expect(await sessions()).toEqual([{ own: '0' }]);
  const runner = app.dataSource.createQueryRunner();
  await runner.connect();
  expect((await app.get('api/operations')).status).toBe(200);
  await runner.release();
  expect(await sessions()).toEqual([{ own: '1' }]);
});

it('has fifty requests wait for its connections, and refuses more', async () => {
  const app = await start();
  const holder = app.dataSource.createQueryRunner();
  await holder.startTransaction();
  await holder.query('LOCK TABLE delay_queue.operation IN ACCESS EXCLUSIVE MODE');
  const answers: (string | number)[] = [];
  const refused = signal();
  const all = Array.from({ length: 60 }, async () => {
    const { status, body } = await app.get<Problem>('api/operations');
    answers.push(status === 200 ? status : body.problem);
    if (answers.length === 10) refused.resolve();
  });
  await refused.promise;
  expect(answers).toEqual(Array(10).fill('busy'));
  await holder.rollbackTransaction();
  await holder.release();
  await Promise.all(all);
  expect(answers.slice(10)).toEqual(Array(50).fill(200));
});

it('needs the queue', async () => {
  @Module({ imports: [DelayQueueDashboardModule.forRoot({ authorize: () => null })] })
  class WithoutQueue {}
  const app = await NestFactory.create(WithoutQueue, { logger: false, abortOnError: false });
  await expect(app.init()).rejects.toThrow(/there is no DelayQueueModule.forRoot\(\)/);
  await app.close();
});

it('takes its options from a factory', async () => {
  const options = { authorize: () => null, path: '/x/:id' };
  @Module({
    imports: [DelayQueueDashboardModule.forRootAsync({ useFactory: async () => options })],
  })
  class WithWrongPath {}
  const app = await NestFactory.create(WithWrongPath, { logger: false, abortOnError: false });
  await expect(app.init()).rejects.toThrow(/DelayQueueDashboardModule: path: must be like/);
  await app.close();
});
