import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayConfigError, delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { DataSource, EntitySchema } from 'typeorm';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { findDrift, readCatalogue } from '../support/command-line.js';

// oxlint-disable jest/expect-expect -- `expectKept` expects

let database: TestDatabase;
let sources: DataSource[];

beforeEach(async () => {
  database = await createEmptyDatabase();
  sources = [];
});

afterEach(async () => {
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
async function made(source: DataSource): Promise<object[]> {
  return source.query(
    `SELECT c.relname, c.relkind, c.reloptions, pg_get_indexdef(c.oid) AS index,
            (SELECT array_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull)
                              ORDER BY attnum)
             FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns
     FROM pg_class c WHERE c.relnamespace = 'delay_queue'::regnamespace ORDER BY c.relname`,
  );
}

async function tablesIn(source: DataSource, schema: string): Promise<string[]> {
  const rows: { name: string }[] = await source.query(
    `SELECT relname AS name FROM pg_class
     WHERE relkind = 'r' AND relnamespace = to_regnamespace($1) ORDER BY 1`,
    [schema],
  );
  return rows.map(({ name }) => name);
}

const TABLES = [
  'abort',
  'delay',
  'history',
  'node',
  'operation',
  'operation_change',
  'pause',
  'permit',
  'quota',
  'rerun',
];

describe('nodes that start on one database at the same moment', () => {
  it('run the migrations together on an empty one', async () => {
    const nodes = await Promise.all([1, 2, 3, 4, 5, 6].map(() => open()));
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
      const nodes = await Promise.all([1, 2, 3].map(() => open({ migrationsTransactionMode })));
      await Promise.all(nodes.map((source) => source.runMigrations()));
      const [first] = nodes as [DataSource];
      expect(await tablesIn(first, 'delay_queue')).toEqual(TABLES);
      await first.query('DELETE FROM migrations WHERE id > 1');
      await first.undoLastMigration();
      expect(await tablesIn(first, 'delay_queue')).toEqual([]);
    },
  );

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
    const before = await filled(source);
    await source.query('DELETE FROM migrations');
    await runMigrations(source);
    await expectKept(source, before);
  });

  it('is not taken back while anything is kept that a user could miss', async () => {
    const source = await open();
    await runMigrations(source);
    const kept: [what: string, insert: string][] = [
      ['live delays', delayWith(`now() + interval '1 day'`)],
      ['dead letters', delayWith(`'infinity'`)],
      [
        'history',
        `INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name) VALUES (7, now(), now(), now(), 0, 1, 'completed', 'a')`,
      ],
      [
        'reruns',
        `INSERT INTO delay_queue.rerun (id, due_at, asked_at, created_at, name, key, payload) VALUES (1, now(), now(), now(), 'a', 'k', '1')`,
      ],
      ['pauses', `INSERT INTO delay_queue.pause VALUES (now(), 'infinity', 'a', '')`],
      [
        'operations',
        `INSERT INTO delay_queue.operation (id, started_at, seen_at, action, who, node, asked, counts) VALUES (1, now(), now(), 'cancel', 'me', 'n', '{}', '{}')`,
      ],
    ];
    for (const [what, insert] of kept) {
      await source.query(insert);
      const refused = (await source.undoLastMigration().catch((error: unknown) => error)) as Error;
      expect(refused).toBeInstanceOf(DelayConfigError);
      expect(refused.message).toMatch(new RegExp(`still holds ${what}[^,]*, and`));
      expect(await tablesIn(source, 'delay_queue')).toEqual(TABLES);
      // Which is what the error tells to do.
      await source.query(/TRUNCATE [^;]*?(?=, and revert)/.exec(refused.message)![0]);
    }
    await source.undoLastMigration();
    expect(await tablesIn(source, 'delay_queue')).toEqual([]);
    await runMigrations(source);
    expect(await tablesIn(source, 'delay_queue')).toEqual(TABLES);
  });

  it('stays with all that waits where TypeORM drops or synchronizes what it knows', async () => {
    const source = await open();
    await runMigrations(source);
    await source.query(delayWith('now()'));
    await source.synchronize();
    await source.dropDatabase();
    await runMigrations(source);
    expect(await source.query('SELECT name FROM delay_queue.delay')).toHaveLength(1);
  });

  it('completes tables of an older build, or names what it cannot change', async () => {
    const source = await open();
    const [Migration] = delayQueueMigrations();
    await runMigrations(source);
    await source.query(delayWith('now()'));
    const runner = source.createQueryRunner();
    await source.query(
      `ALTER TABLE delay_queue.delay DROP COLUMN move_log, DROP COLUMN repeat, DROP CONSTRAINT delay_due_at_readable;
       DROP TABLE delay_queue.rerun; DROP FUNCTION delay_queue.cancel_one`,
    );
    await new Migration!().up(runner);
    expect(findDrift(await readCatalogue(source, 'delay_queue'))).toEqual([]);
    for (const [change, told] of [
      ['ALTER attempts TYPE bigint', 'the column attempts of "delay_queue".delay is bigint'],
      ['DROP COLUMN created_at', 'the column created_at of "delay_queue".delay cannot be added'],
    ]) {
      await source.query(`ALTER TABLE delay_queue.delay ${change}`);
      const refused: unknown = await new Migration!().up(runner).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(DelayConfigError);
      expect((refused as Error).message).toContain(told);
      await source.query(
        `ALTER TABLE delay_queue.delay ALTER attempts TYPE integer USING 0, ALTER attempts SET DEFAULT 0`,
      );
    }
    expect(await source.query('SELECT name FROM delay_queue.delay')).toHaveLength(1);
    await runner.release();
  });
});

const delayWith = (wakeAt: string): string =>
  `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
   VALUES ('test.a', '1', now(), ${wakeAt}, now())`;

/** What stands in the tables, beside the tables themselves. */
async function filled(source: DataSource): Promise<object[]> {
  await runMigrations(source);
  await source.query(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     VALUES ('test.a', 'k', '1', now(), now(), now());
     INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name)
     VALUES (7, now(), now(), now(), 0, 1, 'completed', 'test.a')`,
  );
  return made(source);
}

async function expectKept(source: DataSource, before: object[]): Promise<void> {
  // The application's own table may stand in the same schema.
  const ours = (await made(source)).filter((table) => !JSON.stringify(table).includes('note'));
  expect(ours).toEqual(before);
  expect(await source.query('SELECT key FROM delay_queue.delay')).toEqual([{ key: 'k' }]);
  expect(await source.query('SELECT id FROM delay_queue.history')).toEqual([{ id: '7' }]);
}

describe('in the DataSource of the application', () => {
  const Note = new EntitySchema<{ id: number; text: string }>({
    name: 'note',
    columns: { id: { type: Number, primary: true }, text: { type: String } },
  });

  it('synchronize: true creates none of our tables', async () => {
    const source = await open({ synchronize: true, migrations: [], entities: [Note] });
    expect(await tablesIn(source, 'public')).toEqual(['note']);
    expect(await tablesIn(source, 'delay_queue')).toEqual([]);
  });

  it.each<[what: string, options: object]>([
    ['synchronize: true', { synchronize: true, entities: [Note] }],
    [
      'synchronize: true, with its schema set to ours',
      { synchronize: true, entities: [Note], schema: 'delay_queue' },
    ],
    ['dropSchema: true', { dropSchema: true, synchronize: true, migrationsRun: true }],
  ])('%s changes none of them, and the next start is fine', async (_, options) => {
    const first = await open();
    const before = await filled(first);
    for (let round = 0; round < 2; round += 1) {
      await open(options);
      await expectKept(first, before);
    }
  });
});
