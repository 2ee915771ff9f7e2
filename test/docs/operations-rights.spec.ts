import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';
import { adapted, blocksUnder, dropRoles } from './operations-sql.js';

const PERMISSION_DENIED = { code: '42501' };

let database: TestDatabase;
let superuser: Client;
let roles: string;
let node: DelayNode | undefined;
let watcher: Client | undefined;

beforeEach(async () => {
  roles = `shop_${randomBytes(5).toString('hex')}`;
  database = await createEmptyDatabase();
  superuser = new Client({ connectionString: database.url });
  await superuser.connect();
});

afterEach(async () => {
  await node?.stop();
  await watcher?.end();
  node = undefined;
  watcher = undefined;
  await superuser.query('DROP SCHEMA IF EXISTS delay_queue CASCADE');
  await dropRoles(superuser, roles);
  await superuser.end();
  await database.drop();
});

function urlOf(role: string, password: string): string {
  const url = new URL(database.url);
  url.username = `${roles}_${role}`;
  url.password = password;
  return url.href;
}

it('the rights of docs/operations.md let one role migrate, another schedule and run, and a third see no payload', async () => {
  const [create, grant, watch] = blocksUnder('Roles and rights').map((code) =>
    adapted(code, database.url, roles),
  );
  await superuser.query(create!);
  const owner = new DataSource({
    type: 'postgres',
    url: urlOf('owner', 'change me'),
    migrations: delayQueueMigrations(),
  });
  await owner.initialize();
  await runMigrations(owner).finally(() => owner.destroy());
  await superuser.query(grant!);
  await superuser.query(watch!);

  node = await startNode({
    url: urlOf('app', 'change me too'),
    providers: [plainHandler('test.granted', () => {})],
  });
  const completed = node.next('completed');
  await node.delays.schedule('test.granted', null, { after: 0, key: 'k' });
  await completed;

  watcher = new Client({ connectionString: urlOf('watch', 'change me as well') });
  await watcher.connect();
  for (const heading of ['The backlog and its age', 'Live nodes', 'The oldest snapshot']) {
    for (const code of blocksUnder(heading)) await watcher.query(code);
  }
  await expect(watcher.query('SELECT payload FROM delay_queue.delay')).rejects.toMatchObject(
    PERMISSION_DENIED,
  );
});
