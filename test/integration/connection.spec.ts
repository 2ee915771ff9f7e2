import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DelayConfigError,
  DelayEvents,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  DelayService,
  runMigrations,
} from 'nestjs-delay-queue';
import { Client } from 'pg';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { fencedHandler, plainHandler } from '../support/delay-node.js';

/** `forRoot({ connection })`: applications that have no TypeORM. */

let database: TestDatabase;
let client: Client;
let apps: { close(): Promise<void> }[];

beforeEach(async () => {
  database = await createEmptyDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('CREATE TABLE closed (id text PRIMARY KEY)');
  apps = [];
});

afterEach(async () => {
  for (const app of apps) await app.close();
  await client.end();
  await database.drop();
});

async function start(options: DelayQueueModuleOptions, providers: never[] = []) {
  @Module({ imports: [DelayQueueModule.forRoot(options)], providers })
  class App {}
  const app = await NestFactory.createApplicationContext(App, {
    logger: false,
    abortOnError: false,
  });
  apps.push(app);
  const events = app.get(DelayEvents);
  const next = (event: 'completed' | 'dead') =>
    new Promise<{ key: string | null; error?: string }>((heard) => events.once(event, heard));
  return { delays: app.get(DelayService), next };
}

const closedRows = async () =>
  (await client.query<{ id: string }>('SELECT id FROM closed ORDER BY id')).rows.map(
    ({ id }) => id,
  );

describe.each([
  ['a text', (url: string) => url],
  ['options of pg', (connectionString: string) => ({ connectionString, max: 3 })],
])('with the connection as %s', (_, connectionTo) => {
  it('creates its tables, and runs delays of either kind', async () => {
    const connection = connectionTo(database.url);
    await runMigrations(connection);
    await runMigrations(connection);
    const plain = plainHandler('test.a', (delay) =>
      client.query('INSERT INTO closed VALUES ($1)', [`plain ${delay.key}`]).then(() => {}),
    );
    const fenced = fencedHandler('test.b', async (delay, { client: its, manager }) => {
      await its.query('INSERT INTO closed VALUES ($1)', [`client ${delay.key}`]);
      its.release();
      await manager.query('INSERT INTO closed VALUES ($1)', [`manager ${delay.key}`]);
    });
    const { delays, next } = await start({ connection }, [plain, fenced] as never[]);
    for (const name of ['test.a', 'test.b'] as const) {
      const completed = next('completed');
      await delays.schedule(name, { n: 1 }, { after: 0, key: 'k' });
      await completed;
    }
    expect(await closedRows()).toEqual(['client k', 'manager k', 'plain k']);
  });
});

it('rolls back what a transactional handler wrote when it fails, and its swallowed errors too', async () => {
  await runMigrations(database.url);
  const throwing = fencedHandler('test.a', async (_, ctx) => {
    await ctx.client.query(`INSERT INTO closed VALUES ('thrown')`);
    throw new Error('no');
  });
  const swallowing = fencedHandler('test.b', async (_, ctx) => {
    await ctx.client.query(`INSERT INTO closed VALUES ('swallowed')`);
    await ctx.client.query('SELECT 1/0').catch(() => {});
  });
  const ending = fencedHandler('test.c', async (_, ctx) => {
    await ctx.client.query(`INSERT INTO closed VALUES ('ended')`);
    await ctx.client.query('COMMIT');
  });
  const options = { connection: database.url, maxAttempts: 1 };
  const { delays, next } = await start(options, [throwing, swallowing, ending] as never[]);
  const whys: [string, RegExp][] = [
    ['test.a', /no/],
    ['test.b', /rolled back/],
    ['test.c', /COMMIT was not sent/],
  ];
  for (const [name, why] of whys) {
    const dead = next('dead');
    await delays.schedule(name as 'test.a', { n: 1 }, { after: 0, key: 'k' });
    expect((await dead).error).toMatch(why);
  }
  expect(await closedRows()).toEqual([]);
});

it('joins a transaction by its client, and schedules lists in one of its own', async () => {
  await runMigrations(database.url, { schema: 'other' });
  const { delays } = await start({ connection: database.url, schema: 'other', worker: false });
  await client.query('BEGIN');
  await delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'mine', tx: client });
  expect(await delays.find('test.a', 'mine')).toBeNull();
  await client.query('ROLLBACK');
  expect(await delays.find('test.a', 'mine')).toBeNull();

  const items = ['a', 'b'].map((key) => ({
    name: 'test.a' as const,
    payload: { n: 1 },
    key,
    after: '1h',
  }));
  const verdicts = (await delays.scheduleMany(items)).map(({ verdict }) => verdict);
  // The keys are taken now: this is a transaction of several statements.
  const again = (await delays.scheduleMany(items)).map(({ verdict }) => verdict);
  expect([...verdicts, ...again]).toEqual(['scheduled', 'scheduled', 'replaced', 'replaced']);
  const conflicting = items.map((item) => ({ ...item, onConflict: 'error' as const }));
  await expect(delays.scheduleMany(conflicting)).rejects.toThrow('already waiting');
});

describe('a start is refused', () => {
  it.each<[what: string, options: DelayQueueModuleOptions, says: RegExp]>([
    [
      'for another kind of address',
      { connection: 'mysql://a:secret@b/c' },
      /connection: must begin/,
    ],
    [
      'for options of TypeORM',
      { connection: { url: 'x:secret' } },
      /connection.url: is an option of TypeORM/,
    ],
    ['for a number', { connection: 7 as never }, /connection: must be an object, not 7/],
    [
      'for two databases',
      { connection: 'postgresql://here', dataSource: 'main' },
      /give either connection or dataSource/,
    ],
  ])('%s, without showing its value', async (_, options, says) => {
    const refused = start(options);
    await expect(refused).rejects.toBeInstanceOf(DelayConfigError);
    await expect(refused).rejects.toThrow(says);
    await expect(refused).rejects.not.toThrow(/secret/);
  });

  it('without tables, and says how to create them', async () => {
    await expect(start({ connection: database.url })).rejects.toThrow(/nestjs-delay-queue migrate/);
  });

  it('without a server', async () => {
    const url = new URL(database.url);
    url.port = '1';
    await expect(start({ connection: url.href })).rejects.toThrow('ECONNREFUSED');
  });
});
