import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, fencedHandler, plainHandler, startNode } from '../support/delay-node.js';
import { OtherNode } from '../support/other-node.js';
import { refusedStart } from './engine/support/refused-start.js';

/** What getting started says that the application's role needs, word by word. */
const RIGHTS = rightsAsTold();

function rightsAsTold(): { schema: string; tables: string[] } {
  const page = readFileSync(new URL('../../docs/getting-started.md', import.meta.url), 'utf8');
  const said = /needs (\w+) on the schema and ([A-Z, and\s]+?) on its\s+tables/.exec(page);
  if (said === null)
    throw new Error('docs/getting-started.md does not say which rights a node needs');
  return { schema: said[1]!, tables: said[2]!.match(/[A-Z]+/g) ?? [] };
}

const PERMISSION_DENIED = { code: '42501' };

let database: TestDatabase;
let owner: Client;
let role: string;
let node: DelayNode | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
  owner = new Client({ connectionString: database.url });
  await owner.connect();
  role = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  await owner.query(`
    CREATE ROLE ${role} LOGIN PASSWORD '${role}';
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    GRANT ${RIGHTS.schema} ON SCHEMA delay_queue TO ${role};
    GRANT ${RIGHTS.tables.join()} ON ALL TABLES IN SCHEMA delay_queue TO ${role}`);
});

afterEach(async () => {
  await node?.stop();
  node = undefined;
  await owner.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await owner.end();
  await database.drop();
});

const urlOfRole = (): string => {
  const url = new URL(database.url);
  url.username = role;
  url.password = role;
  return url.href;
};

it('a server that gives no more connections still takes calls, on those that there are', async () => {
  node = await startNode({ url: urlOfRole(), providers: [plainHandler('test.plain', () => {})] });
  // One of the pool, before it is too late.
  await node.dataSource.query('SELECT 1');
  await owner.query(`ALTER ROLE ${role} CONNECTION LIMIT 1`);
  const calls = [1, 2].map((n) => node!.delays.schedule('test.a', { n }, { after: '1h' }));
  for (const { verdict } of await Promise.all(calls)) expect(verdict).toBe('scheduled');
  const { rows } = await owner.query('SELECT count(*)::int AS rows FROM delay_queue.delay');
  expect(rows).toEqual([{ rows: 2 }]);
});

it('rights to read and write the rows are all that a node needs, from start to stop', async () => {
  const troubles: unknown[] = [];
  let fails = 0;
  node = await startNode({
    url: urlOfRole(),
    providers: [
      plainHandler('test.plain', () => {}),
      plainHandler(
        'test.fails',
        () => {
          fails += 1;
          throw new Error('no');
        },
        { maxAttempts: 2, backoff: () => 1 },
      ),
      fencedHandler('test.fenced', async (_delay, { manager }) => {
        await manager.query('SELECT count(*) FROM delay_queue.history');
      }),
      fencedHandler(
        'test.hangs',
        (_delay, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('told to stop')));
          }),
        { timeout: 50, maxAttempts: 1 },
      ),
      plainHandler('test.again', async ({ payload }) => {
        if (payload === 1) await node?.delays.schedule('test.again', 2, { after: 50, key: 'k' });
      }),
    ],
  });
  const { delays } = node;
  node.events.on('trouble', (trouble) => troubles.push(trouble));
  const ends = [
    node.next('completed', ({ name }) => name === 'test.plain'),
    node.next('completed', ({ name }) => name === 'test.fenced'),
    node.next('completed', ({ name }) => name === 'test.again'),
    node.next('superseded'),
    node.next('dead', ({ name }) => name === 'test.fails'),
    node.next('dead', ({ name }) => name === 'test.hangs'),
  ];
  await delays.scheduleMany([
    { name: 'test.plain', payload: 1, after: 0 },
    { name: 'test.fenced', payload: 1, after: 0 },
    { name: 'test.fails', payload: 1, after: 0, key: 'k' },
    { name: 'test.hangs', payload: 1, after: 0, key: 'k' },
    { name: 'test.again', payload: 1, after: 0, key: 'k' },
  ]);
  await Promise.all(ends);
  expect(fails).toBe(2);

  const key = 'verbs';
  await delays.schedule('test.z', 1, { after: '1h', key });
  await delays.schedule('test.z', 2, { after: '1h', key });
  await delays.reschedule('test.z', key, { extendBy: '1h' });
  await delays.cancel('test.z', key);
  expect(await delays.history('test.z', key)).toMatchObject([{ state: 'cancelled' }]);
  expect(await delays.cancel('test.fails', 'k')).toMatchObject({ verdict: 'cancelled' });

  expect(await new OtherNode(node.dataSource).node.prune(0, 100)).toBeGreaterThan(0);
  const dead = node.next('dead');
  await delays.retryDead('test.hangs', 'k');
  await dead;

  await node.stop();
  node = undefined;
  expect(troubles).toEqual([]);
  const { rows } = await owner.query('SELECT id FROM delay_queue.node');
  expect(rows).toEqual([]);
});

it('a role without rights is told at start what is missing', async () => {
  await owner.query(`REVOKE ALL ON ALL TABLES IN SCHEMA delay_queue FROM ${role}`);
  const handler = plainHandler('test.plain', () => {});
  const error = await refusedStart({ url: urlOfRole(), providers: [handler] });
  expect(String(error)).toMatch(/permission denied for (table|schema)/);
});

describe('of the rights that getting started names,', () => {
  it('there are these', () => {
    expect(RIGHTS).toEqual({ schema: 'USAGE', tables: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] });
  });

  const withoutDelete = RIGHTS.tables.filter((right) => right !== 'DELETE');
  it.each(withoutDelete)('none is too much: without %s a node does not start', async (right) => {
    await owner.query(`REVOKE ${right} ON ALL TABLES IN SCHEMA delay_queue FROM ${role}`);
    const handler = plainHandler('test.plain', () => {});
    const error = await refusedStart({ url: urlOfRole(), providers: [handler] });
    expect(error).toMatchObject(PERMISSION_DENIED);
  });

  it('none is too much: without DELETE nothing ends', async () => {
    await owner.query(`REVOKE DELETE ON ALL TABLES IN SCHEMA delay_queue FROM ${role}`);
    node = await startNode({ url: urlOfRole(), providers: [plainHandler('test.plain', () => {})] });
    await node.delays.schedule('test.z', 1, { after: '1h', key: 'k' });
    await expect(node.delays.cancel('test.z', 'k')).rejects.toMatchObject(PERMISSION_DENIED);
    const trouble = node.next('trouble', ({ during }) => during === 'acknowledge');
    await node.delays.schedule('test.plain', 1, { after: 0 });
    expect((await trouble).error).toMatchObject(PERMISSION_DENIED);
  });
});

const BEYOND: [what: string, sql: () => string][] = [
  ['create a table in the schema', () => 'CREATE TABLE delay_queue.mine (id int)'],
  ['create a schema', () => 'CREATE SCHEMA mine'],
  ['change a table', () => 'ALTER TABLE delay_queue.delay ADD mine int'],
  ['drop a table', () => 'DROP TABLE delay_queue.delay'],
  ['drop the schema', () => 'DROP SCHEMA delay_queue CASCADE'],
  ['empty a table at once', () => 'TRUNCATE delay_queue.delay'],
  [
    'add a trigger',
    () => 'CREATE TRIGGER mine AFTER INSERT ON delay_queue.delay EXECUTE FUNCTION f()',
  ],
  ['add an index', () => 'CREATE INDEX mine ON delay_queue.delay (name)'],
  ['describe a table', () => `COMMENT ON TABLE delay_queue.delay IS 'mine'`],
  ['make a role', () => 'CREATE ROLE mine'],
  ['become a superuser', () => `ALTER ROLE ${role} SUPERUSER`],
  ['read the passwords', () => 'SELECT * FROM pg_authid'],
  ['read a file', () => `SELECT pg_read_file('PG_VERSION')`],
  ['run a program', () => `COPY (SELECT 1) TO PROGRAM 'true'`],
  ['become another role', () => 'SET ROLE pg_read_all_data'],
];

describe('that role cannot', () => {
  let session: Client;

  beforeEach(async () => {
    session = new Client({ connectionString: urlOfRole() });
    await session.connect();
  });
  afterEach(() => session.end());

  it.each(BEYOND)('%s', async (_what, sql) => {
    await expect(session.query(sql())).rejects.toMatchObject(PERMISSION_DENIED);
  });

  it("end another role's sessions", async () => {
    const { rows } = await owner.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await expect(
      session.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]),
    ).rejects.toMatchObject(PERMISSION_DENIED);
  });

  it('run the migrations, and is told so', async () => {
    const empty = await createEmptyDatabase();
    const url = new URL(urlOfRole());
    url.pathname = new URL(empty.url).pathname;
    const migrations = delayQueueMigrations();
    const source = await new DataSource({
      type: 'postgres',
      url: url.href,
      migrations,
    }).initialize();
    await expect(runMigrations(source)).rejects.toMatchObject(PERMISSION_DENIED);
    await source.destroy();
    await empty.drop();
  });
});

it('a second role that may create a schema migrates, and the first one runs on it', async () => {
  const empty = await createEmptyDatabase();
  const name = new URL(empty.url).pathname.slice(1);
  const migrator = `${role}_migrator`;
  await owner.query(`
    CREATE ROLE ${migrator} LOGIN PASSWORD '${migrator}';
    GRANT CREATE ON DATABASE ${name} TO ${migrator}`);
  const admin = new Client({ connectionString: empty.url });
  await admin.connect();
  // TypeORM keeps its list of migrations there.
  await admin.query(`GRANT CREATE ON SCHEMA public TO ${migrator}`);
  const url = new URL(empty.url);
  [url.username, url.password] = [migrator, migrator];
  const migrations = delayQueueMigrations();
  const source = await new DataSource({ type: 'postgres', url: url.href, migrations }).initialize();
  await runMigrations(source);
  await source.query(`
    GRANT ${RIGHTS.schema} ON SCHEMA delay_queue TO ${role};
    GRANT ${RIGHTS.tables.join()} ON ALL TABLES IN SCHEMA delay_queue TO ${role}`);
  await source.destroy();

  [url.username, url.password] = [role, role];
  node = await startNode({ url: url.href, providers: [fencedHandler('test.fenced', () => {})] });
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', 1, { after: 0, key: 'k' });
  expect(await completed).toMatchObject({ key: 'k', attempt: 1 });
  await node.stop();
  node = undefined;
  await admin.query(`DROP OWNED BY ${migrator} CASCADE; DROP OWNED BY ${role}`);
  await admin.end();
  await empty.drop();
  await owner.query(`DROP OWNED BY ${migrator}; DROP ROLE ${migrator}`);
});
