import { afterEach, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { commandLine } from './command-line/support/command-line.js';

const FILLED = new URL('./fixtures/database-of-0.1.sql', import.meta.url);

/** What there is in the library's schema, in words that are the same in two databases. */
const SHAPE = `
  SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' '
           || COALESCE(column_default, '') || ' ' || COALESCE(collation_name, '') AS is
  FROM information_schema.columns WHERE table_schema = 'delay_queue'
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'delay_queue'
  UNION ALL SELECT relname || ' ' || COALESCE(array_to_string(reloptions, ' '), '')
            FROM pg_class WHERE relnamespace = 'delay_queue'::regnamespace AND relkind = 'r'
  UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid)
            FROM pg_constraint WHERE connamespace = 'delay_queue'::regnamespace
  UNION ALL SELECT regexp_replace(pg_get_functiondef(oid), '"|\\s', '', 'g')
            FROM pg_proc WHERE pronamespace = 'delay_queue'::regnamespace
  ORDER BY 1`;

const databases: TestDatabase[] = [];
let node: DelayNode | undefined;

afterEach(async () => {
  await node?.stop();
  node = undefined;
  for (const database of databases.splice(0)) await database.drop();
});

async function filled(): Promise<string> {
  const database = await createEmptyDatabase();
  databases.push(database);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(await readFile(FILLED, 'utf8'));
  await client.end();
  const { url } = database;
  const migrations = delayQueueMigrations();
  const dataSource = await new DataSource({ type: 'postgres', url, migrations }).initialize();
  await runMigrations(dataSource);
  await dataSource.destroy();
  return url;
}

async function shapeOf(url: string): Promise<string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ is: string }>(SHAPE);
  await client.end();
  return rows.map((row) => row.is);
}

it('a database of 0.1 becomes what a new one is, by `nestjs-delay-queue migrate`', async () => {
  const fresh = await createTestDatabase();
  databases.push(fresh);
  const url = await filled();
  expect(await commandLine(url, ['migrate'])).toMatchObject({ exitCode: 0 });
  expect(await shapeOf(url)).toEqual(await shapeOf(fresh.url));
});

it('a filled database of 0.1 goes on: what is due runs, and nothing else changes', async () => {
  const url = await filled();
  const ran: unknown[] = [];
  node = await startNode({
    url,
    providers: [
      plainHandler('test.filled', ({ payload, group, headers }) => {
        ran.push(payload === 'grouped' ? { group, headers } : payload);
      }),
    ],
  });
  const keyless = Array.from({ length: 10 }, () => 'keyless');
  const grouped = { group: 'eu', headers: { trace: '1' } };
  await until(
    () => ran.length,
    (count) => count === 14,
  );
  expect(new Set(ran)).toEqual(new Set(['due', 'retried', 'expired', grouped, 'keyless']));
  expect(ran.filter((one) => one === 'keyless')).toEqual(keyless);
  await until(
    () => node?.admin.count({}) ?? Promise.resolve(0),
    (left) => left === 3,
  );
  const left = await node.admin.list({ name: 'test.filled' });
  expect(left.map(({ key, state }) => [key, state])).toEqual([
    ['dead', 'dead'],
    ['paused', 'scheduled'],
    ['later', 'scheduled'],
  ]);
  expect(await node.delays.history('test.filled', 'due')).toHaveLength(2);
  await node.admin.resume('test.filled', { group: 'held' });
  await node.admin.retryDead({ name: 'test.filled' });
  await until(
    () => ran.length,
    (count) => count === 16,
  );
});
