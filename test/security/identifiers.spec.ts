import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DelayConfigError, delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { refusedStart } from '../integration/engine/support/refused-start.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { fencedHandler, plainHandler, startNode } from '../support/delay-node.js';
import { resolveOptions } from '../support/option-checks.js';

/** What comes from configuration and stands in SQL text: the schema. And what stands near it: a node's name. */
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

const INJECTED = `a"; DROP SCHEMA public CASCADE; --`;

const NAMES = ['a.b', 'a\n', 'a\0b', 'schéma', 'Delay_Queue', '1st', '', 'x'.repeat(49)];
const RESERVED = ['pg_mine', 'information_schema', 'public'];
const NO_NAMES = [null, ['delay_queue'], { toString: () => 'delay_queue' }];

const HOSTILE_SCHEMAS: unknown[] = [
  INJECTED,
  'x'.repeat(1_000_000),
  ...NAMES,
  ...RESERVED,
  ...NO_NAMES,
];

it('a schema of another name is refused before any SQL', async () => {
  for (const schema of HOSTILE_SCHEMAS) {
    const options = { schema: schema as string };
    expect(() => delayQueueMigrations(options)).toThrow(DelayConfigError);
    expect(() => resolveOptions(options)).toThrow(DelayConfigError);
    expect(() => resolveOptions(options)).toThrow(
      /^DelayQueueModule: schema: must be [^\0]{1,200}$/,
    );
  }
  const refused = await refusedStart({ url: database.url, options: { schema: INJECTED } });
  expect(refused).toBeInstanceOf(DelayConfigError);
  expect(await schemas()).toEqual(['public']);
});

const INJECTING = `-c statement_timeout=1 '"; DROP SCHEMA public CASCADE; --`.padEnd(80, `'"`);

/** Words of SQL are names like any other, because the name is quoted everywhere. */
it.each(['select', 'x'.repeat(48)])(
  'a schema may be called %s, and a node anything: everything works, and the names are texts',
  async (schema) => {
    const migrations = delayQueueMigrations({ schema });
    const dataSource = new DataSource({ type: 'postgres', url: database.url, migrations });
    await dataSource.initialize();
    await runMigrations(dataSource);
    const node = await startNode({
      url: database.url,
      options: { schema, history: { keep: '1h' }, nodeName: INJECTING },
      providers: [plainHandler('test.plain', () => {}), fencedHandler('test.fenced', () => {})],
    });
    const { rows } = await owner.query(`SELECT id, present FROM "${schema}".node`);
    expect(rows).toEqual([{ id: INJECTING, present: true }]);
    const sessions = await owner.query<{ name: string }>(
      `SELECT DISTINCT application_name AS name FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'delay-queue %'`,
    );
    expect(sessions.rows).toEqual([{ name: `delay-queue ${INJECTING}`.slice(0, 63) }]);

    const ends = ['test.plain', 'test.fenced'].map((name) =>
      node.next('completed', (event) => event.name === name),
    );
    await node.delays.schedule('test.plain', 1, { after: 0, key: 'k' });
    await node.delays.scheduleMany([{ name: 'test.fenced', payload: 1, after: 0 }]);
    await Promise.all(ends);
    await node.delays.schedule('test.z', 1, { after: '1h', key: 'k' });
    await node.delays.reschedule('test.z', 'k', { extendBy: 1 });
    expect(await node.delays.cancel('test.z', 'k')).toMatchObject({ verdict: 'cancelled' });
    expect(await node.delays.history('test.plain', 'k')).toMatchObject([
      { state: 'completed', node: INJECTING },
    ]);
    await node.stop();
    await dataSource.query(`TRUNCATE "${schema}".history`);
    await dataSource.undoLastMigration();
    await dataSource.destroy();
    expect(await schemas()).toEqual(['public']);
  },
);
