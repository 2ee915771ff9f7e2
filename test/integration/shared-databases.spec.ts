import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  type DelayEventMap,
  delayQueueMigrations,
  OnDelayEvent,
  runMigrations,
} from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { startNode } from '../support/delay-node.js';
import { refusedStart } from './engine/support/refused-start.js';

let database: TestDatabase;
let client: Client;

const open = async (given: Promise<TestDatabase>): Promise<void> => {
  database = await given;
  client = new Client({ connectionString: database.url });
  await client.connect();
};

beforeEach(() => open(createTestDatabase()));
afterEach(async () => {
  await client.end();
  await database.drop();
});

const SETVAL = /SELECT setval.*\)\)\)/;

/** Does what the refusal of a start says. */
async function mended(): Promise<string> {
  const message = String(await refusedStart({ url: database.url }));
  await client.query(SETVAL.exec(message)![0]);
  await (await startNode({ url: database.url })).stop();
  return message;
}

const advice: string[] = [];

class Advised {
  @OnDelayEvent('advice')
  on({ message }: DelayEventMap['advice'][0]): void {
    advice.push(message);
  }
}

it('ids that begin again, as after logical replication, stop the start with what mends it', async () => {
  await client.query(`INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
    SELECT 'test.a', '1', '2999-01-01', '2999-01-01', now() FROM generate_series(1, 5);
    ALTER SEQUENCE delay_queue.delay_id_seq RESTART`);
  expect(await mended()).toContain(
    'the next id of "delay_queue".delay is 1, and there are ids up to 5',
  );
});

it.each([
  [
    'history',
    `INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name)
     SELECT n, now(), now(), now(), 1, 1, 'completed', 'test.a' FROM generate_series(1, 7) n`,
  ],
  [
    'permit',
    `INSERT INTO delay_queue.permit (id, epoch, name, group_id) VALUES (7, 1, 'test.a', '')`,
  ],
])('so do those that %s alone holds: with its epoch, an id names one end', async (_, statement) => {
  await client.query(statement);
  expect(await mended()).toContain('there are ids up to 7');
});

it('an id that is no identity any more, as after a copy by a foreign tool, stops the start, too', async () => {
  await client.query('ALTER TABLE delay_queue.delay ALTER id DROP IDENTITY');
  const message = String(await refusedStart({ url: database.url }));
  expect(message).toContain('is no longer an identity column');
  await client.query(/ALTER TABLE.*AS IDENTITY/.exec(message)![0]);
  await client.query(SETVAL.exec(message)![0]);
  await (await startNode({ url: database.url })).stop();
});

it('environments that are told apart by the schema of TypeORM hear that they share their delays', async () => {
  advice.length = 0;
  for (const schema of ['public', 'staging']) {
    const shared = { url: database.url, schema, extra: { max: 5 } };
    await (await startNode({ url: '', database: shared, providers: [Advised] })).stop();
  }
  expect(advice).toEqual([expect.stringContaining("forRoot({ schema: 'delay_queue_staging' })")]);
});

it('so do those that are told apart by a search_path, and none whose tables are there once', async () => {
  advice.length = 0;
  const start = async (path?: string): Promise<void> => {
    const options = path === undefined ? undefined : `-c search_path=${path}`;
    const shared = { url: database.url, extra: { max: 5, options } };
    await (await startNode({ url: '', database: shared, providers: [Advised] })).stop();
  };
  await client.query(`CREATE SCHEMA staging; CREATE TABLE staging.account (id int);
    CREATE SCHEMA live; CREATE TABLE live.other (id int)`);
  await start('staging');
  await client.query('CREATE TABLE live.account (id int)');
  for (const path of [
    undefined,
    'public,staging',
    'missing',
    'pg_catalog',
    'delay_queue,staging',
  ]) {
    await start(path);
  }
  // For all who share the database.
  await client.query(
    `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET search_path = staging`,
  );
  await start();
  expect(advice).toEqual([]);
  await start('staging,public');
  const role = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  await client.query(`CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD '${role}';
    ALTER ROLE ${role} SET search_path = live`);
  const url = Object.assign(new URL(database.url), { username: role, password: role }).href;
  await (
    await startNode({ url: '', database: { url, extra: { max: 5 } }, providers: [Advised] })
  ).stop();
  await client.query(`DROP ROLE ${role}`);
  expect(advice).toEqual([
    expect.stringContaining("forRoot({ schema: 'delay_queue_staging' })"),
    expect.stringContaining("forRoot({ schema: 'delay_queue_live' })"),
  ]);
});

it('a schema that exists is not created: its owner needs no CREATE on the database', async () => {
  const empty = await createEmptyDatabase();
  const owner = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  const admin = new Client({ connectionString: empty.url });
  await admin.connect();
  await admin.query(`CREATE ROLE ${owner} LOGIN PASSWORD '${owner}';
    CREATE SCHEMA delay_queue AUTHORIZATION ${owner}; GRANT CREATE ON SCHEMA public TO ${owner}`);
  const url = Object.assign(new URL(empty.url), { username: owner, password: owner }).href;
  const migrations = delayQueueMigrations();
  const source = await new DataSource({ type: 'postgres', url, migrations }).initialize();
  await runMigrations(source).finally(() => source.destroy());
  const { rows } = await admin.query(`SELECT to_regclass('delay_queue.delay')::text AS made`);
  await admin.query(`DROP OWNED BY ${owner} CASCADE; DROP ROLE ${owner}`);
  await admin.end();
  await empty.drop();
  expect(rows).toEqual([{ made: 'delay_queue.delay' }]);
});
