import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayConfigError, delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { resolveOptions } from '../../src/delay-queue/options/resolve-options.js';
import { refusedStart } from '../integration/engine/support/refused-start.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { fencedHandler, plainHandler, startNode } from '../support/delay-node.js';

/** What comes from configuration and stands in SQL text: the schema. And what stands near it. */
let database: TestDatabase;
let owner: Client;

beforeEach(async () => {
  database = await createEmptyDatabase();
  owner = new Client({ connectionString: database.url });
  await owner.connect();
});

afterEach(async () => {
  await owner.end();
  await database.drop();
});

/** A sign that something was created although the schema's name was refused. */
const schemas = async (): Promise<string[]> => {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT nspname::text AS name FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'`,
  );
  return rows.map(({ name }) => name);
};

const HOSTILE_SCHEMAS: unknown[] = [
  'a"b',
  `a"; DROP SCHEMA public CASCADE; --`,
  `a'; SELECT pg_sleep(60); --`,
  'a.b',
  'a\n',
  'a\0b',
  'schéma',
  'Delay_Queue',
  '1st',
  '',
  'x'.repeat(49),
  'x'.repeat(1_000_000),
  'pg_mine',
  'information_schema',
  'public',
  null,
  ['delay_queue'],
  { toString: () => 'delay_queue' },
];

describe('a schema of another name is refused before any SQL:', () => {
  it.each(HOSTILE_SCHEMAS.map((schema, number) => [number, schema] as const))(
    'no. %i',
    (_number, schema) => {
      const options = { schema: schema as string };
      expect(() => delayQueueMigrations(options)).toThrow(DelayConfigError);
      expect(() => resolveOptions(options)).toThrow(DelayConfigError);
      expect(() => resolveOptions(options)).toThrow(
        /^DelayQueueModule: schema: must be [^\0]{1,200}$/,
      );
    },
  );

  it('and the application does not start', async () => {
    const schema = `a"; DROP SCHEMA public CASCADE; --`;
    const refused = await refusedStart({ url: database.url, options: { schema } });
    expect(refused).toBeInstanceOf(DelayConfigError);
    expect(await schemas()).toEqual(['public']);
  });
});

/** Words of SQL are names like any other, because the name is quoted everywhere. */
const ODD_SCHEMAS = ['select', '_', 'x'.repeat(48)];

describe('a schema may be called', () => {
  it.each(ODD_SCHEMAS)('%s, and everything works in it', async (schema) => {
    const migrations = delayQueueMigrations({ schema });
    const dataSource = new DataSource({ type: 'postgres', url: database.url, migrations });
    await dataSource.initialize();
    await runMigrations(dataSource);
    const node = await startNode({
      url: database.url,
      options: { schema, history: { keep: '1h' } },
      providers: [plainHandler('test.plain', () => {}), fencedHandler('test.fenced', () => {})],
    });
    const ends = ['test.plain', 'test.fenced'].map((name) =>
      node.next('completed', (event) => event.name === name),
    );
    await node.delays.schedule('test.plain', 1, { after: 0, key: 'k' });
    await node.delays.scheduleMany([{ name: 'test.fenced', payload: 1, after: 0 }]);
    await Promise.all(ends);
    await node.delays.schedule('test.z', 1, { after: '1h', key: 'k' });
    await node.delays.reschedule('test.z', 'k', { extendBy: 1 });
    expect(await node.delays.cancel('test.z', 'k')).toMatchObject({ verdict: 'cancelled' });
    expect(await node.delays.history('test.plain', 'k')).toMatchObject([{ state: 'completed' }]);
    await node.stop();
    await dataSource.undoLastMigration();
    await dataSource.destroy();
    expect(await schemas()).toEqual(['public']);
  });
});

describe('a node may be called', () => {
  it.each([`'; DROP SCHEMA delay_queue CASCADE; --`, '\'"'.repeat(40), `-c statement_timeout=1`])(
    '%s, which is a text and nothing else',
    async (nodeName) => {
      const migrations = delayQueueMigrations();
      const dataSource = new DataSource({ type: 'postgres', url: database.url, migrations });
      await dataSource.initialize();
      await runMigrations(dataSource);
      const node = await startNode({
        url: database.url,
        options: { nodeName },
        providers: [plainHandler('test.plain', () => {})],
      });
      const { rows } = await owner.query('SELECT id, present FROM delay_queue.node');
      expect(rows).toEqual([{ id: nodeName, present: true }]);
      const sessions = await owner.query<{ name: string }>(
        `SELECT application_name AS name FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'delay-queue %'`,
      );
      const name = `delay-queue ${nodeName}`.slice(0, 63);
      expect(new Set(sessions.rows.map((row) => row.name))).toEqual(new Set([name]));
      const completed = node.next('completed');
      await node.delays.schedule('test.plain', 1, { after: 0, key: 'k' });
      await completed;
      expect(await node.delays.history('test.plain', 'k')).toMatchObject([{ node: nodeName }]);
      await node.stop();
      await dataSource.destroy();
    },
  );
});
