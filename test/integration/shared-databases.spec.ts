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

it('ids that begin again, as after logical replication, stop the start with what mends it', async () => {
  await client.query(`INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
    SELECT 'test.a', '1', '2999-01-01', '2999-01-01', now() FROM generate_series(1, 5);
    ALTER SEQUENCE delay_queue.delay_id_seq RESTART`);
  const message = String(await refusedStart({ url: database.url }));
  expect(message).toContain('begin again at 1, and there are rows up to 5');
  await client.query(/SELECT setval.*?\)\)/.exec(message)![0]);
  await (await startNode({ url: database.url })).stop();
});

it('environments that are told apart by the schema of TypeORM hear that they share their delays', async () => {
  const advice: string[] = [];
  class Advised {
    @OnDelayEvent('advice')
    on({ message }: DelayEventMap['advice'][0]): void {
      advice.push(message);
    }
  }
  for (const schema of ['public', 'staging']) {
    const shared = { url: database.url, schema, extra: { max: 5 } };
    await (await startNode({ url: '', database: shared, providers: [Advised] })).stop();
  }
  expect(advice).toEqual([expect.stringContaining("forRoot({ schema: 'delay_queue_staging' })")]);
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
