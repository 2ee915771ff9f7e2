import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { DashboardApp } from '../support/dashboard-app.js';
import {
  changesOf,
  HeldDelay,
  insertDelays,
  operationWhen,
} from '../support/dashboard-operations.js';
import { until } from '../support/until.js';
import { OwnServer } from './support/own-server.js';
import type { OperationLine } from '../support/dashboard-parts.js';

const MANY = 5_500;
const NAME = 'test.many';
const WHICH = { filter: { name: NAME } };

let server: OwnServer;
let app: DashboardApp;
let ids: string[];
const strays: unknown[] = [];
const stray = (error: unknown): void => void strays.push(error);

beforeEach(async () => {
  process.on('unhandledRejection', stray);
  server = await OwnServer.create({});
  await server.start();
  const { url } = server;
  const migrations = delayQueueMigrations();
  const dataSource = await new DataSource({ type: 'postgres', url, migrations }).initialize();
  await runMigrations(dataSource);
  await dataSource.destroy();
  const client = new Client({ connectionString: url });
  await client.connect();
  ids = await insertDelays(client, { name: NAME, many: MANY, dead: true });
  await client.end();
  app = await DashboardApp.start({ url });
});

afterEach(async () => {
  await app.stop();
  await server.remove();
  process.off('unhandledRejection', stray);
});

const order = async (body: object): Promise<OperationLine> =>
  (await app.post<OperationLine>('api/operations', body)).body;

it('an operation whose server crashes fails, says what it did, and is finished by another one', async () => {
  const held = await HeldDelay.of(server.url, ids[3_500]!);
  const { id } = await order({ action: 'retry', which: WHICH });
  await operationWhen(app, id, ({ counts }) => counts['retried'] === 3_000);
  await server.crash();
  // While it is away, nothing else than a typed answer comes.
  const away = await app.get(`api/operations/${id}`);
  expect(away).toMatchObject({ status: 503, body: { problem: 'databaseGone' } });
  await held.release();
  await server.start();
  const line = await operationWhen(app, id, ({ endedAt }) => endedAt !== null);
  expect(line).toMatchObject({
    state: 'failed',
    counts: { retried: 3_000 },
    error: expect.stringContaining('database'),
  });
  expect((await changesOf(app, id)).map((change) => change.id)).toEqual(ids.slice(0, 3_000));
  await until(
    () => app.admin.count({ name: NAME, state: 'dead' }),
    (count) => count === MANY - 3_000,
  );
  const rest = await order({ action: 'retry', which: WHICH });
  const last = await operationWhen(app, rest.id, ({ endedAt }) => endedAt !== null);
  expect(last).toMatchObject({ state: 'done', counts: { retried: MANY - 3_000 } });
  expect(strays).toEqual([]);
});
