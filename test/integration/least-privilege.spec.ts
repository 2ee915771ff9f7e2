import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  type DelayEventMap,
  delayQueueMigrations,
  OnDelayEvent,
  runMigrations,
} from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, fencedHandler, plainHandler, startNode } from '../support/delay-node.js';
import { OtherNode } from '../support/other-node.js';
import { refusedStart } from './engine/support/refused-start.js';

/** The statements that docs/operations.md gives for the application's role. */
const RIGHTS = rightsAsTold();

function rightsAsTold(): { schema: string; tables: string[]; sequences: string } {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const granted = (what: string): string => {
    const said = new RegExp(`GRANT ([A-Z, ]+) ON ${what} delay_queue TO shop_app;`).exec(page);
    if (said === null) throw new Error(`docs/operations.md does not say which rights on ${what}`);
    return said[1]!;
  };
  return {
    schema: granted('SCHEMA'),
    tables: granted('ALL TABLES IN SCHEMA').split(', '),
    sequences: granted('ALL SEQUENCES IN SCHEMA'),
  };
}

const PERMISSION_DENIED = { code: '42501' };
const TOLD = {
  code: 'DELAY_CONFIG',
  message: expect.stringContaining('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA'),
  cause: PERMISSION_DENIED,
};
const NEEDED = 'SELECT INSERT UPDATE DELETE'.split(' ');

let database: TestDatabase;
let owner: Client;
let role: string;
let node: DelayNode | undefined;

const rightsOf = (who: string): string => `
  GRANT ${RIGHTS.schema} ON SCHEMA delay_queue TO ${who};
  GRANT ${RIGHTS.tables.join()} ON ALL TABLES IN SCHEMA delay_queue TO ${who};
  GRANT ${RIGHTS.sequences} ON ALL SEQUENCES IN SCHEMA delay_queue TO ${who}`;

beforeEach(async () => {
  database = await createTestDatabase();
  owner = new Client({ connectionString: database.url });
  await owner.connect();
  role = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  await owner.query(`
    CREATE ROLE ${role} LOGIN PASSWORD '${role}';
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    ${rightsOf(role)}`);
});

afterEach(async () => {
  await node?.stop();
  node = undefined;
  await owner.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await owner.end();
  await database.drop();
});

/** That database, for a role whose password is its name. */
function urlFor(who: string, { url: given } = database): string {
  const url = new URL(given);
  [url.username, url.password] = [who, who];
  return url.href;
}

const plain = plainHandler('test.plain', () => {});

const revoke = (right: string) =>
  owner.query(`REVOKE ${right} ON ALL TABLES IN SCHEMA delay_queue FROM ${role}`);

it('a server that gives no more connections still takes calls, on those that there are', async () => {
  node = await startNode({ url: urlFor(role), providers: [plain] });
  // One of the pool, before it is too late.
  await node.dataSource.query('SELECT 1');
  await owner.query(`ALTER ROLE ${role} CONNECTION LIMIT 1`);
  const calls = [1, 2].map((n) => node!.delays.schedule('test.a', { n }, { after: '1h' }));
  for (const { verdict } of await Promise.all(calls)) expect(verdict).toBe('scheduled');
});

const fails = (): never => {
  throw new Error('no');
};

const aborted = ({ signal }: { signal: AbortSignal }): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut'))));

it('rights to read and write the rows are all that a node needs, from start to stop', async () => {
  const troubles: unknown[] = [];
  node = await startNode({
    url: urlFor(role),
    providers: [
      plain,
      plainHandler('test.fails', fails, { maxAttempts: 2, backoff: () => 1 }),
      fencedHandler('test.fenced', async (_delay, { manager }) => {
        await manager.query('SELECT count(*) FROM delay_queue.history');
      }),
      fencedHandler('test.hangs', (_, ctx) => aborted(ctx), { timeout: 50, maxAttempts: 1 }),
      plainHandler('test.again', async ({ payload }) => {
        if (payload === 1) await node?.delays.schedule('test.again', 2, { after: 50, key: 'k' });
      }),
    ],
  });
  const running = node;
  const { delays, dataSource } = running;
  running.events.on('taskFailed', (trouble) => troubles.push(trouble));
  const ends = [
    ...['test.plain', 'test.fenced', 'test.again'].map((of) =>
      running.next('completed', ({ name }) => name === of),
    ),
    ...['test.fails', 'test.hangs'].map((of) => running.next('dead', ({ name }) => name === of)),
  ];
  const names = ['test.plain', 'test.fenced', 'test.fails', 'test.hangs', 'test.again'] as const;
  await delays.scheduleMany(names.map((name) => ({ name, payload: 1, after: 0, key: 'k' })));
  await Promise.all(ends);

  await delays.schedule('test.z', 1, { after: '1h', key: 'k' });
  await delays.schedule('test.z', 2, { after: '1h', key: 'k' });
  await delays.reschedule('test.z', 'k', { extendBy: '1h' });
  await delays.cancel('test.z', 'k');
  expect(await delays.history('test.z', 'k')).toMatchObject([{ state: 'cancelled' }]);
  expect(await delays.cancel('test.fails', 'k')).toMatchObject({ verdict: 'cancelled' });
  expect(await new OtherNode(dataSource).prune(0, 100)).toBeGreaterThan(0);
  const dead = running.next('dead');
  await delays.retryDead('test.hangs', 'k');
  await dead;

  await node.stop();
  expect(troubles).toEqual([]);
  expect((await owner.query('SELECT id FROM delay_queue.node')).rows).toEqual([]);
});

it.each(NEEDED.filter((right) => right !== 'DELETE'))(
  'none is too much: without %s a node does not start',
  async (right) => {
    await revoke(right);
    const error = await refusedStart({ url: urlFor(role), providers: [plain] });
    expect(error).toMatchObject({ code: 'DELAY_CONFIG', cause: PERMISSION_DENIED });
    expect(String(error)).toMatch(/permission denied for (table|schema)/);
    expect(String(error)).toContain('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA');
  },
);

it('ids that begin again are found by that role; without SELECT on the sequence it hears that it cannot', async () => {
  const advice: string[] = [];
  class Advised {
    @OnDelayEvent('advice')
    on({ message }: DelayEventMap['advice'][0]): void {
      advice.push(message);
    }
  }
  const setup = { url: urlFor(role), providers: [Advised] };
  await (await startNode(setup)).stop();
  expect(advice).toEqual([]);
  await owner.query(`INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
    SELECT 'test.z', '1', '2999-01-01', '2999-01-01', now() FROM generate_series(1, 500);
    ALTER SEQUENCE delay_queue.delay_id_seq RESTART`);
  expect(String(await refusedStart(setup))).toContain('SELECT setval(');
  await owner.query(`REVOKE ALL ON ALL SEQUENCES IN SCHEMA delay_queue FROM ${role}`);
  node = await startNode(setup);
  const refused = node.delays.schedule('test.z', 1, { after: '1h' });
  await expect(refused).rejects.toMatchObject({ code: 'DELAY_CONFIG', cause: { code: '23505' } });
  expect(advice).toEqual([
    expect.stringContaining('GRANT SELECT ON ALL SEQUENCES IN SCHEMA "delay_queue"'),
  ]);
});

it('a right that is taken away while a node runs is told with what it needs', async () => {
  node = await startNode({ url: urlFor(role), providers: [plain] });
  const running = node;
  const calls = (): Promise<unknown>[] => [
    running.delays.schedule('test.z', 1, { after: '1h', key: 'k' }),
    running.delays.scheduleMany([{ name: 'test.z', payload: 1, after: '1h' }]),
    running.dataSource.transaction((manager) =>
      running.delays.schedule('test.z', 1, { after: '1h', manager }),
    ),
  ];
  await revoke('INSERT');
  for (const call of calls()) await expect(call).rejects.toMatchObject(TOLD);
  await owner.query(`REVOKE USAGE ON SCHEMA delay_queue FROM ${role}`);
  for (const call of calls()) await expect(call).rejects.toMatchObject(TOLD);
  await owner.query(rightsOf(role));
});

it('where nobody may execute functions unless it is said, a node does not start until it is said', async () => {
  await owner.query('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA delay_queue FROM PUBLIC');
  const setup = { url: urlFor(role), providers: [plain] };
  const error = await refusedStart(setup);
  expect(error).toMatchObject({ code: 'DELAY_CONFIG' });
  expect(String(error)).toContain('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "delay_queue"');
  await owner.query(`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA delay_queue TO ${role}`);
  node = await startNode(setup);
});

it('none is too much: without DELETE nothing ends', async () => {
  await revoke('DELETE');
  const options = { drainTimeout: '100ms' } as const;
  node = await startNode({ url: urlFor(role), providers: [plain], options });
  await node.delays.schedule('test.z', 1, { after: '1h', key: 'k' });
  await expect(node.delays.cancel('test.z', 'k')).rejects.toMatchObject(TOLD);
  const trouble = node.next('taskFailed', ({ task }) => task === 'complete');
  await node.delays.schedule('test.plain', 1, { after: 0 });
  expect((await trouble).error).toMatchObject(PERMISSION_DENIED);
});

it('that role cannot migrate; a second one that may create a schema can, and the first one runs on it', async () => {
  const empty = await createEmptyDatabase();
  const migrator = `${role}_migrator`;
  const admin = new Client({ connectionString: empty.url });
  await admin.connect();
  // TypeORM keeps its list of migrations in `public`, where every role may create up to Postgres 14.
  await admin.query(`
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
    CREATE ROLE ${migrator} LOGIN PASSWORD '${migrator}';
    GRANT CREATE ON DATABASE ${new URL(empty.url).pathname.slice(1)} TO ${migrator};
    GRANT CREATE ON SCHEMA public TO ${migrator}`);
  const migrateAs = async (who: string): Promise<void> => {
    const url = urlFor(who, empty);
    const source = new DataSource({ type: 'postgres', url, migrations: delayQueueMigrations() });
    await source.initialize();
    await runMigrations(source).finally(() => source.destroy());
  };
  await expect(migrateAs(role)).rejects.toMatchObject(PERMISSION_DENIED);
  await migrateAs(migrator);
  await admin.query(rightsOf(role));

  const providers = [fencedHandler('test.fenced', () => {})];
  node = await startNode({ url: urlFor(role, empty), providers });
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', 1, { after: 0, key: 'k' });
  expect(await completed).toMatchObject({ key: 'k', attempt: 1 });
  await node.stop();
  await admin.query(`DROP OWNED BY ${migrator} CASCADE; DROP OWNED BY ${role}`);
  await admin.end();
  await empty.drop();
  await owner.query(`DROP OWNED BY ${migrator}; DROP ROLE ${migrator}`);
});
