import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { takeAdvisoryLock } from '../support/statements.js';

/** A line of its own, a terminal sequence and a turned direction: Postgres takes them in the name of a role. */
const ACTING = '\n[Nest] LOG migrated \u001b[2J\u202e';

let database: TestDatabase;
let owner: Client;
let stranger: Client;
let source: DataSource;
let role: string;

/** A login that may do nothing but connect. */
beforeEach(async () => {
  database = await createEmptyDatabase();
  owner = new Client({ connectionString: database.url });
  await owner.connect();
  role = `stranger_${randomBytes(5).toString('hex')}${ACTING}`;
  await owner.query(`CREATE ROLE "${role}" LOGIN PASSWORD 'stranger'`);
  const url = new URL(database.url);
  [url.username, url.password] = [encodeURIComponent(role), 'stranger'];
  stranger = new Client({ connectionString: url.href, application_name: 'nightly' });
  await stranger.connect();
  source = new DataSource({
    type: 'postgres',
    url: database.url,
    migrations: delayQueueMigrations(),
  });
  await source.initialize();
});

afterEach(async () => {
  // First: whatever waits for its locks goes on.
  await stranger.end();
  await source.destroy();
  await owner.query(`DROP ROLE "${role}"`);
  await owner.end();
  await database.drop();
});

const hold = (name: string): Promise<unknown> =>
  stranger.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [name]);

it('a lock that a stranger holds has an end, and the error names him', async () => {
  await hold('nestjs-delay-queue');
  const { rows } = await stranger.query<{ pid: string }>('SELECT pg_backend_pid()::text AS pid');
  const refused: unknown = await runMigrations(source, { wait: 50 }).catch(
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ code: 'DELAY_CONFIG' });
  const { message } = refused as Error;
  expect(message).toContain(`pid ${rows[0]?.pid}`);
  expect(message).toContain(
    role.replace(ACTING, String.raw`\n[Nest] LOG migrated \u001b[2J\u202e`),
  );
  expect(message).toContain('nightly');
  expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);

  await stranger.query('SELECT pg_advisory_unlock_all()');
  await runMigrations(source, { wait: '1m' });
});

it('a lock that comes free in time is taken', async () => {
  const runner = source.createQueryRunner();
  await hold('some lock');
  await runner.startTransaction();
  let tries = 0;
  const query = async (sql: string, parameters: unknown[]): Promise<unknown> => {
    const rows: unknown = await runner.query(sql, parameters);
    tries += 1;
    if (tries === 3) await stranger.query('SELECT pg_advisory_unlock_all()');
    return rows;
  };
  await takeAdvisoryLock({ query }, 'some lock', 'a test');
  expect(tries).toBeGreaterThan(3);
  await runner.rollbackTransaction();
  await runner.release();
});

it.each(['0', 0, '25h', 'soon', null])('the wait for it is checked: %p', async (wait) => {
  await expect(runMigrations(source, { wait: wait as never })).rejects.toMatchObject({
    code: 'DELAY_CONFIG',
    message: expect.stringContaining('runMigrations: wait'),
  });
});

it('no statement waits in the server for an advisory lock: each login that may connect can hold one', () => {
  const root = join(import.meta.dirname, '../../src');
  const waiting = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) =>
      /pg_advisory_(xact_)?lock(_shared)?\(/.test(readFileSync(join(root, file), 'utf8')),
    );
  expect(waiting).toEqual([]);
});
