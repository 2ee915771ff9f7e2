import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayConfigError, delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { DataSource, EntitySchema } from 'typeorm';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';

let database: TestDatabase;
let sources: DataSource[];
let node: DelayNode | undefined;

beforeEach(async () => {
  database = await createEmptyDatabase();
  sources = [];
});

afterEach(async () => {
  await node?.stop();
  node = undefined;
  await Promise.all(sources.map((source) => source.destroy()));
  await database.drop();
});

async function open(options: object = {}): Promise<DataSource> {
  const source = new DataSource({
    type: 'postgres',
    url: database.url,
    migrations: delayQueueMigrations(),
    ...options,
  });
  await source.initialize();
  sources.push(source);
  return source;
}

/** Everything the library makes in a schema: tables with columns, indexes, options. */
async function made(source: DataSource, schema = 'delay_queue'): Promise<object[]> {
  return source.query(
    `SELECT c.relname, c.relkind, c.reloptions, pg_get_indexdef(c.oid) AS index,
            (SELECT array_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull)
                              ORDER BY attnum)
             FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns
     FROM pg_class c WHERE c.relnamespace = $1::regnamespace ORDER BY c.relname`,
    [schema],
  );
}

const tablesIn = async (source: DataSource, schema: string): Promise<string[]> =>
  (
    await source.query(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1
       ORDER BY table_name`,
      [schema],
    )
  ).map(({ name }: { name: string }) => name);

const TABLES = ['delay', 'history', 'node'];

/** The application's own table may stand in the same schema. */
const isOurs = (table: object): boolean => !JSON.stringify(table).includes('note');

const TEN = Array.from({ length: 10 }, (_, n) => n);

describe('nodes that start on one database at the same moment', () => {
  it('run the migrations together on an empty one', async () => {
    const nodes = await Promise.all(TEN.map(() => open()));
    await Promise.all(nodes.map((source) => runMigrations(source)));
    const [source] = nodes as [DataSource];
    expect(await tablesIn(source, 'delay_queue')).toEqual(TABLES);
    const run: unknown[] = await source.query('SELECT name FROM migrations');
    expect(run).toEqual([{ name: 'DelayQueue1760000000000' }]);
    for (const one of nodes) expect(await one.showMigrations()).toBe(false);
  });

  it.each(['all', 'each', 'none'] as const)(
    'may even run them by TypeORM alone once its own table exists, in the mode %s',
    async (migrationsTransactionMode) => {
      await (await open({ migrations: [] })).runMigrations();
      const nodes = await Promise.all([1, 2, 3, 4].map(() => open({ migrationsTransactionMode })));
      await Promise.all(nodes.map((source) => source.runMigrations()));
      const [first] = nodes as [DataSource];
      expect(await tablesIn(first, 'delay_queue')).toEqual(TABLES);
      await first.query('DELETE FROM migrations WHERE id > 1');
      await first.undoLastMigration();
      expect(await tablesIn(first, 'delay_queue')).toEqual([]);
    },
  );

  it('by TypeORM as they start, again where that fails: its own table it creates without a lock', async () => {
    const starts = TEN.map(async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await open({ migrationsRun: true });
        } catch (error) {
          // As Nest does, ten times by default.
          if (tries === 10) throw error;
        }
      }
    });
    const [first] = (await Promise.all(starts)) as [DataSource];
    expect(await tablesIn(first, 'delay_queue')).toEqual(TABLES);
  });

  it('are told when their pool is too small for it', async () => {
    const source = await open({ poolSize: 1 });
    await expect(runMigrations(source)).rejects.toThrow(/pool of at least 2 connections/);
  });

  it('hear of a migration that fails, and free the lock for the next one', async () => {
    class Broken1760000002000 {
      readonly name = 'Broken1760000002000';
      up = (): Promise<void> => Promise.reject(new Error('broken on purpose'));
      down = (): Promise<void> => Promise.resolve();
    }
    const broken = await open({ migrations: [...delayQueueMigrations(), Broken1760000002000] });
    const log = jest.spyOn(console, 'log').mockImplementation(() => {});
    await expect(runMigrations(broken)).rejects.toThrow('broken on purpose');
    log.mockRestore();
    const whole = await open();
    await runMigrations(whole);
    expect(await tablesIn(whole, 'delay_queue')).toEqual(TABLES);
  });
});

describe('the migration', () => {
  it('may run again over what is there: nothing changes, no row is lost', async () => {
    const source = await open();
    await runMigrations(source);
    const before = await made(source);
    await source.query(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
       VALUES ('test.a', 'k', '1', now(), now(), now())`,
    );
    await source.query('DELETE FROM migrations');
    await runMigrations(source);
    expect(await made(source)).toEqual(before);
    expect(await source.query('SELECT key FROM delay_queue.delay')).toEqual([{ key: 'k' }]);
  });

  it('makes the same in a schema of another name, beside the first', async () => {
    const schema = 'billing_delays';
    const source = await open({
      migrations: [...delayQueueMigrations(), ...delayQueueMigrations({ schema })],
    });
    await runMigrations(source);
    const here = JSON.stringify(await made(source, schema));
    const there = JSON.stringify(await made(source));
    expect(here).toBe(there.replaceAll('delay_queue.', `${schema}.`));

    const handler = plainHandler('test.there', () => {});
    node = await startNode({ url: database.url, providers: [handler], options: { schema } });
    const completed = node.next('completed');
    await node.delays.schedule('test.there', null, { after: 0, key: 'k' });
    await completed;
    expect(await node.delays.history('test.there', 'k')).toMatchObject([{ state: 'completed' }]);
    expect(await source.query('SELECT id FROM delay_queue.history')).toEqual([]);
  });

  it('is not taken back while live delays wait, and is when only dead letters are left', async () => {
    const source = await open();
    await runMigrations(source);
    await source.query(
      `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
       VALUES ('test.a', '1', now(), now() + interval '1 day', now())`,
    );
    const refused: unknown = await source.undoLastMigration().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(DelayConfigError);
    expect(await source.query('SELECT name FROM delay_queue.delay')).toHaveLength(1);
    await source.query(`UPDATE delay_queue.delay SET wake_at = 'infinity'`);
    await source.undoLastMigration();
    expect(await tablesIn(source, 'delay_queue')).toEqual([]);
    await runMigrations(source);
    expect(await tablesIn(source, 'delay_queue')).toEqual(TABLES);
  });

  it.each(['', 'Delay', 'a"b', 'a b', "a'; DROP TABLE x; --", 'x'.repeat(49), '1a', 'a.b', 'ä'])(
    'refuses the schema name %j',
    (schema) => {
      expect(() => delayQueueMigrations({ schema })).toThrow(DelayConfigError);
    },
  );
});

describe('synchronize: true in the DataSource of the application', () => {
  const Note = new EntitySchema<{ id: number; text: string }>({
    name: 'note',
    columns: { id: { type: Number, primary: true }, text: { type: String } },
  });

  it('creates none of our tables', async () => {
    const source = await open({ synchronize: true, migrations: [], entities: [Note] });
    expect(await tablesIn(source, 'public')).toEqual(['note']);
    const schemas: unknown[] = await source.query(
      `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'delay%'`,
    );
    expect(schemas).toEqual([]);
  });

  it.each([undefined, 'delay_queue'])(
    'changes nothing, with its schema set to %s',
    async (schema) => {
      const first = await open();
      await runMigrations(first);
      await first.query(
        `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
       VALUES ('test.a', 'k', '1', now(), now(), now());
       INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name)
       VALUES (7, now(), now(), now(), 0, 1, 'completed', 'test.a')`,
      );
      const before = await made(first);
      for (let round = 0; round < 2; round += 1) {
        const source = await open({
          synchronize: true,
          entities: [Note],
          schema,
        });
        await source.synchronize();
        expect((await made(first)).filter(isOurs)).toEqual(before);
      }
      expect(await first.query('SELECT key FROM delay_queue.delay')).toEqual([{ key: 'k' }]);
      expect(await first.query('SELECT id FROM delay_queue.history')).toEqual([{ id: '7' }]);
    },
  );
});

describe('dropSchema: true in the DataSource of the application', () => {
  it('drops none of our tables, and their migration is not in the way of the next start', async () => {
    const first = await open();
    await runMigrations(first);
    await first.query(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
       VALUES ('test.a', 'k', '1', now(), now(), now())`,
    );
    const before = await made(first);
    for (let round = 0; round < 2; round += 1) {
      await open({ dropSchema: true, synchronize: true, migrationsRun: true });
      expect(await made(first)).toEqual(before);
    }
    expect(await first.query('SELECT key FROM delay_queue.delay')).toEqual([{ key: 'k' }]);
  });

  it('drops them with its own where it has given its own the same schema, and makes them anew', async () => {
    const first = await open();
    await runMigrations(first);
    await open({ dropSchema: true, schema: 'delay_queue', migrationsRun: true });
    expect(await tablesIn(first, 'delay_queue')).toEqual(expect.arrayContaining(TABLES));
  });
});
