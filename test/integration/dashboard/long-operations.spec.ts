import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { DashboardApp, type DashboardSetup } from '../../support/dashboard-app.js';
import {
  changesOf,
  HeldDelay,
  insertDelays,
  operationWhen,
} from '../../support/dashboard-operations.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { until } from '../../support/until.js';
import type { OperationLine, Problem } from '../../support/dashboard-parts.js';

/** Five pages and a half. */
const MANY = 5_500;
/** More than the counts of a preview read, and more than an operation lists. */
const TOO_MANY = 10_500;
const NAME = 'test.many';
const RETRY = { action: 'retry', which: { filter: { name: NAME } } };

let database: TestDatabase;
let client: Client;
let ids: string[];
const apps: DashboardApp[] = [];
const allHeld: HeldDelay[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
beforeEach(async () => {
  await client.query(
    'TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.operation, delay_queue.operation_change',
  );
  ids = await insertDelays(client, { name: NAME, many: MANY, dead: true });
});
afterEach(async () => {
  await Promise.all(allHeld.splice(0).map((held) => held.release()));
  await Promise.all(apps.splice(0).map((app) => app.stop()));
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function start(setup: Partial<DashboardSetup> = {}): Promise<DashboardApp> {
  const app = await DashboardApp.start({ url: database.url, ...setup });
  apps.push(app);
  return app;
}

const order = async (app: DashboardApp, body: object): Promise<OperationLine> =>
  (await app.post<OperationLine>('api/operations', body)).body;

const retried = ({ counts }: OperationLine): number => counts['retried'] ?? 0;

/** Starts a retry of all that has done four pages and waits in the fifth. */
async function heldInTheFifthPage(app: DashboardApp): Promise<{ id: string; held: HeldDelay }> {
  const held = await HeldDelay.of(database.url, ids[4_500]!);
  allHeld.push(held);
  const { id } = await order(app, RETRY);
  await operationWhen(app, id, (line) => retried(line) === 4_000);
  return { id, held };
}

it('retries 10,500 dead letters, counts all of them, and lists the first 10,000', async () => {
  ids.push(
    ...(await insertDelays(client, { name: 'test.more', many: TOO_MANY - MANY, dead: true })),
  );
  const app = await start();
  const { id } = await order(app, { action: 'retry', which: { filter: { state: ['dead'] } } });
  const line = await operationWhen(app, id, ({ endedAt }) => endedAt !== null);
  expect(line).toMatchObject({
    state: 'done',
    counts: { retried: TOO_MANY },
    expected: { count: 10_000, is: 'atLeast' },
  });
  expect((await changesOf(app, id)).map((change) => change.id)).toEqual(ids.slice(0, 10_000));
  expect(await app.admin.count({ state: 'dead' })).toBe(0);
});

it.each(['this process', 'another one'])('is stopped in %s, between two pages', async (where) => {
  const app = await start();
  const { id, held } = await heldInTheFifthPage(app);
  const other = where === 'this process' ? app : await start();
  const { body } = await other.post<OperationLine>(`api/operations/${id}/stop`, {});
  expect(body).toMatchObject({ id, state: 'stopping', endedAt: null });
  await held.release();
  const line = await operationWhen(app, id, ({ endedAt }) => endedAt !== null);
  expect(line).toMatchObject({ state: 'stopped', counts: { retried: 5_000 }, error: null });

  const changes = await changesOf(app, id);
  expect(changes.map((change) => change.id)).toEqual(ids.slice(0, 5_000));
  expect(new Set(changes.map(({ verdict }) => verdict))).toEqual(new Set(['retried']));
  const { rows } = await client.query<{ id: string }>(
    `SELECT id::text FROM delay_queue.delay WHERE move_log -> -1 ->> 'by' = 'tester' ORDER BY delay.id`,
  );
  expect(rows.map((row) => row.id)).toEqual(ids.slice(0, 5_000));
  expect(await app.admin.count({ state: 'dead' })).toBe(MANY - 5_000);
  // To stop it again changes nothing.
  const again = await app.post<OperationLine>(`api/operations/${id}/stop`, {});
  expect(again.body).toEqual(line);
});

it('is stopped by the end of its application, and nothing is left to keep it', async () => {
  const app = await start();
  const other = await start();
  const { id, held } = await heldInTheFifthPage(app);
  const stopping = app.stop();
  await held.release();
  await stopping;
  const line = await operationWhen(other, id, ({ endedAt }) => endedAt !== null);
  expect(line).toMatchObject({ state: 'stopped' });
  expect(await other.admin.count({ state: 'dead' })).toBe(MANY - retried(line));
  expect(await changesOf(other, id)).toHaveLength(retried(line));
});

it('is interrupted once its process no longer keeps it', async () => {
  const app = await start();
  const { id, held } = await heldInTheFifthPage(app);
  await client.query(`UPDATE delay_queue.operation SET seen_at = now() - interval '61 s'`);
  const { body } = await app.get<{ operation: OperationLine }>(`api/operations/${id}`);
  expect(body.operation).toMatchObject({ state: 'interrupted', endedAt: null });
  await held.release();
  await operationWhen(app, id, ({ state }) => state === 'done');
});

it('fails when a page loses its connection, and what it wrote stays', async () => {
  const app = await start();
  const { id, held } = await heldInTheFifthPage(app);
  await until(
    async () => (await client.query(BLOCKED)).rows,
    (rows) => rows.length === 1,
  );
  await client.query(`SELECT pg_terminate_backend(pid) FROM (${BLOCKED}) b`);
  const line = await operationWhen(app, id, ({ endedAt }) => endedAt !== null);
  await held.release();
  expect(line).toMatchObject({
    state: 'failed',
    counts: { retried: 4_000 },
    error: expect.stringContaining('terminat'),
  });
  expect(await changesOf(app, id)).toHaveLength(4_000);
});

const BLOCKED = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`;

it('runs one after the other, and refuses more than twenty', async () => {
  const app = await start();
  const { id, held } = await heldInTheFifthPage(app);
  const one = { action: 'pause', name: NAME };
  const waiting = await Promise.all(Array.from({ length: 19 }, () => order(app, one)));
  expect(new Set(waiting.map(({ state }) => state))).toEqual(new Set(['running']));
  const { status, body } = await app.post<Problem>('api/operations', one);
  expect([status, body.problem]).toEqual([503, 'busy']);
  await app.post(`api/operations/${waiting[0]!.id}/stop`, {});
  await held.release();
  await operationWhen(app, waiting[18]!.id, ({ state }) => state === 'done');
  expect(await operationWhen(app, id, () => true)).toMatchObject({ state: 'done' });
  expect(await operationWhen(app, waiting[0]!.id, () => true)).toMatchObject({
    state: 'stopped',
    counts: {},
  });
});

it('changes nothing that it cannot write down', async () => {
  const app = await start();
  await client.query('ALTER TABLE delay_queue.operation RENAME TO away');
  const { status } = await app.post<Problem>('api/operations', RETRY);
  await client.query('ALTER TABLE delay_queue.away RENAME TO operation');
  expect(status).toBe(500);
  expect(await app.admin.count({ state: 'dead' })).toBe(MANY);
});

it('removes what is older than 90 days, a few at a time', async () => {
  await client.query(`
    INSERT INTO delay_queue.operation (id, started_at, seen_at, action, who, node, asked, counts, ended_as)
    SELECT n, now() - interval '91 days', now(), 'cancel', 'old', 'n', '{}'::jsonb, '{}'::jsonb, 'done' FROM generate_series(1, 15) n
    UNION ALL SELECT 16, now() - interval '89 days', now(), 'cancel', 'old', 'n', '{}', '{}', 'done';
    INSERT INTO delay_queue.operation_change (operation_id, ord, delay_id, name, verdict)
    SELECT id, 1, 1, 'a', 'cancelled' FROM delay_queue.operation`);
  const app = await start();
  const left = async () =>
    (
      await client.query<{ old: string }>(
        `SELECT (SELECT count(*) FROM delay_queue.operation WHERE who = 'old') || ' ' ||
              (SELECT count(*) FROM delay_queue.operation_change) AS old`,
      )
    ).rows[0]?.old;
  for (const expected of ['6 6', '1 1', '1 1']) {
    await order(app, { action: 'pause', name: NAME });
    expect(await left()).toBe(expected);
  }
});
