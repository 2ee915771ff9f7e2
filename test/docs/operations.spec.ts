import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Client } from 'pg';
import { DelayQueueModule, delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { plainHandler, startNode } from '../support/delay-node.js';
import { OtherNode } from '../support/other-node.js';
import { wordsOf } from './compile.js';
import { codeBlocks, readDocument, section } from './documents.js';
import { unpack } from './unpacked.js';

const OPERATIONS = readDocument('docs/operations.md');
const roles = `shop_${randomBytes(5).toString('hex')}`;

let database: TestDatabase;
let client: Client;

/** Without a heading those of the whole document. */
function blocksUnder(heading?: string): string[] {
  const text = heading === undefined ? OPERATIONS.text : section(OPERATIONS, heading);
  const blocks = codeBlocks({ ...OPERATIONS, text }, 'sql').map(({ code }) =>
    // Roles belong to the whole server, and the database has a name of its own here.
    code
      .replaceAll(/\bDATABASE shop\b/g, `DATABASE ${new URL(database.url).pathname.slice(1)}`)
      .replaceAll(/\bshop_(owner|app|watch)\b/g, `${roles}_$1`),
  );
  if (blocks.length === 0) throw new Error(`no SQL under "${heading}"`);
  return blocks;
}

const sql = async (text: string, values?: unknown[]): Promise<Record<string, unknown>[]> =>
  (await client.query(text, values)).rows as Record<string, unknown>[];

const insert = async (key: string, wake: string, name = 'order.close'): Promise<string> => {
  const [row] = await sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT $1, $2, '{}', at, at, now()
     FROM (SELECT date_trunc('milliseconds', now()) + $3::interval AS at) due RETURNING id::text`,
    [name, key, wake],
  );
  return String(row?.['id']);
};

/** Each delay by its key. A time is a whole millisecond, as ours are. */
const delaysNow = async (): Promise<Map<unknown, unknown>> => {
  const rows = await sql(
    `SELECT key, concat_ws(', ', CASE
       WHEN wake_at = 'infinity' THEN 'dead'
       WHEN date_trunc('milliseconds', wake_at) <> wake_at THEN 'between two milliseconds'
       WHEN wake_at <= clock_timestamp() THEN 'due' ELSE 'waits' END,
       leased_by, 'epoch ' || epoch, attempts || ' attempts') AS now
     FROM delay_queue.delay`,
  );
  return new Map(rows.map(({ key, now }) => [key, now]));
};

/** What a look at everything finds. */
const lookNow = async (): Promise<string[]> =>
  (await sql(blocksUnder('A look at everything')[0]!)).map(({ finding }) => String(finding));

const urlOf = (role: string, password: string): string =>
  Object.assign(new URL(database.url), { username: `${roles}_${role}`, password }).href;

async function open(given: Promise<TestDatabase>): Promise<void> {
  database = await given;
  client = new Client({ connectionString: database.url });
  await client.connect();
  await sql('SET search_path = pg_catalog, pg_temp');
}

async function close(): Promise<void> {
  for (const { name } of await sql(
    `SELECT rolname AS name FROM pg_roles WHERE starts_with(rolname, '${roles}')`,
  )) {
    await client.query(`DROP OWNED BY ${String(name)} CASCADE; DROP ROLE ${String(name)}`);
  }
  await client.end();
  await database.drop();
}

describe('the SQL of docs/operations.md, where an operator meets one of everything', () => {
  /** Its node, as the document calls it. */
  const GONE = 'shop-1:4711:c0de';
  let other: OtherNode;

  beforeAll(async () => {
    await open(createTestDatabase());
    other = new OtherNode({ query: sql as DataSource['query'] }, GONE);
    await insert('future', '1 day');
    await insert('overdue', '-1 hour');
    await insert('orphan', '-10 minutes', 'report.send');
    await other.claim(await insert('running', '-1 minute'));
    await other.claimAndDie(await insert('crashed', '-2 minutes'));
    await other.claimAndFail(await insert('dead', '-3 minutes'), null);
    // The identity of the document's example.
    await sql(`SELECT setval('delay_queue.delay_id_seq', 41)`);
    await insert('by id', '1 day');
    await sql(
      `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
       VALUES ('shop-2:1:beef', '{order.close,order.expire}', true, now(), clock_timestamp());
       INSERT INTO delay_queue.history
         (id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key)
       SELECT 1000 + n, clock_timestamp(), now(), now(), n, 1, 1, 'completed', 'order.close', n::text
       FROM generate_series(1, 100) n`,
    );
  });
  beforeEach(() => sql('BEGIN'));
  afterEach(() => sql('ROLLBACK'));
  afterAll(close);

  it.each<[string, Record<string, unknown>[]]>([
    [
      'The backlog and its age',
      [
        { name: 'order.close', overdue: '2', late: '2', late_s: expect.stringMatching(/^36\d\d$/) },
        { name: 'report.send', overdue: '1', late: '1', late_s: expect.stringMatching(/^6\d\d$/) },
      ],
    ],
    ['Names that no node serves', [{ name: 'report.send', overdue: '1' }]],
    ['Dead letters', [{ name: 'order.close', dead: '1' }]],
    ['Live nodes', [{ id: 'shop-2:1:beef', present: true, silent_s: expect.any(String) }]],
    ['Leases', [{ name: 'order.close', leased_by: GONE, running: '1', run_out: '1' }]],
    [
      'Lateness and attempts',
      [{ name: 'order.close', completed: '100', p50_ms: '50.5', p99_ms: '99.0' }],
    ],
    [
      'Dead tuples',
      [
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
      ].map((relname) => ({ relname })),
    ],
    ['Dead letters pile up', [{ name: 'order.close', error: 'Error: no', dead: '1' }]],
    ['A payload kills its process', [{ key: 'crashed', attempts: 1, leased_by: GONE }]],
  ])('shows: %s', async (heading, expected) => {
    const rows = await sql(blocksUnder(heading)[0]!);
    expect(rows).toMatchObject(expected);
    expect(rows).toHaveLength(expected.length);
  });

  it('shows: The backlog and its age, without what a pause or a limit holds', async () => {
    const [backlog] = blocksUnder('The backlog and its age');
    const look = () => sql(backlog!);
    await sql(`INSERT INTO delay_queue.pause VALUES (now(), 'infinity', 'order.close', '', NULL);
      INSERT INTO delay_queue.quota (filled_at, full_since, full_until, tokens, name, group_id)
      VALUES (now(), now(), clock_timestamp() + interval '1 hour', 0, 'report.send', '')`);
    const held = { late: '0', late_s: null };
    const paused = { ...held, name: 'order.close', overdue: '2', paused: '2', limited: '0' };
    const report = { name: 'report.send', overdue: '1', paused: '0' };
    expect(await look()).toMatchObject([{ ...report, limited: '0', late: '1' }, paused]);
    await sql(`UPDATE delay_queue.node SET names = names || '{report.send}'`);
    expect(await look()).toMatchObject([paused, { ...report, ...held, limited: '1' }]);

    await sql(`DELETE FROM delay_queue.pause; UPDATE delay_queue.quota SET full_until = now();
      INSERT INTO delay_queue.quota (filled_at, full_since, full_slots, tokens, name, group_id)
      VALUES (now(), now(), 1, 0, 'order.close', '');
      INSERT INTO delay_queue.permit (id, epoch, name, group_id)
      SELECT id, epoch, name, '' FROM delay_queue.delay WHERE key = 'running'`);
    expect(await look()).toMatchObject([
      { ...report, limited: '0', late: '1' },
      { ...held, name: 'order.close', overdue: '2', paused: '0', limited: '2' },
    ]);
    await sql('UPDATE delay_queue.quota SET full_slots = 2');
    expect((await look()).map(({ late }) => late)).toEqual(['2', '1']);
  });

  describe('shows: A look at everything, which', () => {
    beforeEach(() => sql(`SELECT setval('delay_queue.delay_id_seq', 1000000)`));
    // A sequence is not rolled back.
    afterAll(() => sql(`SELECT setval('delay_queue.delay_id_seq', 10000)`));

    it('is silent where nothing is wrong', async () => {
      expect(await lookNow()).toEqual([]);
    });

    it.each([
      ['ids begin again', `SELECT setval('delay_queue.delay_id_seq', 1)`, 'the ids begin again'],
      [
        'ids of history begin again',
        `DELETE FROM delay_queue.delay; SELECT setval('delay_queue.delay_id_seq', 1000)`,
        'the ids begin again',
      ],
      [
        'there is no identity',
        'ALTER TABLE delay_queue.delay ALTER id DROP IDENTITY',
        'the column id of delay is no identity',
      ],
      [
        'a row can never run',
        `UPDATE delay_queue.delay SET wake_at = '-infinity' WHERE key = 'future'`,
        'can never run',
      ],
      [
        'an index is not valid',
        `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'delay_queue.delay_wake'::regclass`,
        'not a valid index',
      ],
      [
        'autovacuum is off',
        'ALTER TABLE delay_queue.pause SET (autovacuum_enabled = off)',
        'autovacuum is off',
      ],
      [
        'a node is silent',
        `UPDATE delay_queue.node SET seen_at = now() - interval '2 days'`,
        'a node is silent for more than a day',
      ],
    ])('finds where %s', async (_, statement, finding) => {
      await sql(statement);
      expect((await lookNow()).map((line) => line.split(':')[0])).toEqual([finding]);
    });

    it('knows each function and index that the migration makes', async () => {
      const made = await sql(`
        SELECT 'function' AS kind, oid::regprocedure::text AS name FROM pg_proc
        WHERE pronamespace = 'delay_queue'::regnamespace
        UNION ALL
        SELECT 'index', relname FROM pg_class
        WHERE relnamespace = 'delay_queue'::regnamespace AND relkind = 'i' AND relname !~ '_pkey$'`);
      for (const { kind, name } of made) {
        await sql(
          kind === 'function'
            ? `DROP FUNCTION ${String(name)}`
            : `ALTER INDEX delay_queue.${String(name)} RENAME TO old_${String(name)}`,
        );
      }
      const found = (await lookNow()).map((line) => line.split(/[:(]/, 2).join(':'));
      const names = made.map(({ kind, name }) => {
        const bare = String(name)
          .replace(/^delay_queue\./, '')
          .replace(/\(.*/, '');
        return `${kind === 'function' ? 'a' : 'an'} ${String(kind)} is missing: ${bare}`;
      });
      expect(found.toSorted()).toEqual(names.toSorted());
    });

    it('knows each table that the migration makes, by a finding or by its own failure', async () => {
      const tables = await sql(`SELECT relname AS name FROM pg_class
        WHERE relnamespace = 'delay_queue'::regnamespace AND relkind = 'r'`);
      for (const { name } of tables) {
        await sql(`SAVEPOINT there; ALTER TABLE delay_queue.${String(name)} RENAME TO old`);
        const said = await lookNow().catch(({ message }: Error) => [message]);
        expect(said).toContainEqual(
          expect.stringMatching(
            `^a table is missing: ${String(name)}$|"delay_queue.${String(name)}" does not exist`,
          ),
        );
        await sql('ROLLBACK TO there');
      }
    });

    it('finds where the encoding is not UTF8', async () => {
      const url = new URL(database.url);
      const latin = `${url.pathname.slice(1)}_latin`;
      const admin = new Client({ connectionString: database.url });
      await admin.connect();
      await admin.query(`CREATE DATABASE ${latin} TEMPLATE template0 ENCODING 'LATIN1'
        LC_COLLATE 'C' LC_CTYPE 'C'`);
      url.pathname = latin;
      const migrations = delayQueueMigrations();
      const source = new DataSource({ type: 'postgres', url: url.href, migrations });
      await runMigrations(await source.initialize());
      const found = await source.query(blocksUnder('A look at everything')[0]!);
      await source.destroy();
      await admin.query(`DROP DATABASE ${latin}`);
      await admin.end();
      expect(found).toEqual([{ finding: 'the encoding is not UTF8: LATIN1' }]);
    });
  });

  it('shows: The oldest snapshot, with the session that holds one', async () => {
    const holder = new Client({ connectionString: database.url });
    await holder.connect();
    const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    const shown = await sql(blocksUnder('The oldest snapshot')[0]!);
    await holder.end();
    expect(shown.map((row) => row['holder'])).toContain(`session ${rows[0]?.pid}`);
  });

  it.each<[heading: string, changed: Record<string, unknown>]>([
    ['Retry dead letters', { dead: 'due, epoch 3, 0 attempts' }],
    ['Discard', { dead: undefined }],
    ['Run now', { 'by id': 'due, epoch 1, 0 attempts' }],
    ['Postpone', { overdue: 'waits, epoch 1, 0 attempts' }],
    ['Make a dead letter by hand', { 'by id': 'dead, epoch 1, 0 attempts' }],
    ['Release', { running: 'due, epoch 2, 1 attempts', crashed: 'due, epoch 2, 1 attempts' }],
  ])('repairs, and changes nothing else: %s', async (heading, expected) => {
    const before = await delaysNow();
    await sql(blocksUnder(heading)[0]!);
    const after = await delaysNow();
    const changed = [...before].filter(([key, was]) => after.get(key) !== was);
    expect(Object.fromEntries(changed.map(([key]) => [key, after.get(key)]))).toEqual(expected);
  });

  it('repairs: Discard leaves a line of history', async () => {
    await sql(blocksUnder('Discard')[0]!);
    expect(await sql(`SELECT state, error FROM delay_queue.history WHERE key = 'dead'`)).toEqual([
      { state: 'discarded', error: 'Error: no' },
    ]);
  });

  it('repairs: a dead letter by hand takes the delay from the attempt that holds it', async () => {
    await sql(blocksUnder('Run now')[0]!);
    const { id, epoch } = await other.claim('42');
    await sql(blocksUnder('Make a dead letter by hand')[0]!);
    expect(await other.store.complete([{ id, epoch, latenessMs: 0 }])).toEqual([]);
  });

  it('repairs: Rename leaves what runs, and a key that is taken there', async () => {
    await insert('future', '2 days', 'order.expire');
    await sql(blocksUnder('Rename')[0]!);
    expect(
      await sql(`SELECT key FROM delay_queue.delay WHERE name = 'order.close' ORDER BY key`),
    ).toEqual([{ key: 'crashed' }, { key: 'future' }, { key: 'running' }]);
  });

  it('raises the epoch wherever it changes delays', () => {
    const updates = blocksUnder().filter((code) => /\bUPDATE delay_queue\.delay\b/.test(code));
    expect(updates.length).toBeGreaterThan(4);
    expect(updates.filter((code) => !code.includes('epoch = epoch + 1'))).toEqual([]);
  });

  it('runs, every block of it, in the order of the document', async () => {
    await sql('COMMIT');
    for (const code of blocksUnder()) await client.query(code);
    expect(await sql('SELECT FROM delay_queue.delay')).toEqual([]);
  });
});

describe('the rights of docs/operations.md', () => {
  beforeAll(() => open(createEmptyDatabase()));
  afterAll(close);

  it('let one role migrate, another schedule and run, and a third see no payload', async () => {
    const [create, grant, watch] = blocksUnder('Roles and rights');
    await sql(create!);
    const url = urlOf('owner', 'change me');
    const migrations = delayQueueMigrations();
    const owner = await new DataSource({ type: 'postgres', url, migrations }).initialize();
    await runMigrations(owner).finally(() => owner.destroy());
    await sql(grant! + watch!);
    const providers = [plainHandler('test.granted', () => {})];
    const node = await startNode({ url: urlOf('app', 'change me too'), providers });
    const completed = node.next('completed');
    await node.delays.schedule('test.granted', null, { after: 0, key: 'k' });
    await completed;
    await node.stop();
    const watcher = new Client({ connectionString: urlOf('watch', 'change me as well') });
    await watcher.connect();
    for (const heading of ['The backlog and its age', 'Live nodes', 'The oldest snapshot']) {
      await watcher.query(blocksUnder(heading)[0]!);
    }
    const payload = watcher.query('SELECT payload FROM delay_queue.delay');
    await expect(payload).rejects.toMatchObject({ code: '42501' });
    await watcher.end();
  });
});

it('the log is told with every task that can fail', () => {
  const told = section(OPERATIONS, 'The log');
  const tasks = wordsOf('src/delay-queue/tasks/task-health.ts', 'Task');
  expect(tasks.filter((task) => !told.includes(`\`${task}`))).toEqual([]);
});

it('shows its health as Terminus does', async () => {
  const own = await createTestDatabase();
  const blocks = unpack(OPERATIONS);
  const file = pathToFileURL(join(blocks.folder, 'health.controller.ts')).href;
  const { HealthController } = (await import(file)) as { HealthController: Type };
  const connection = TypeOrmModule.forRoot({ type: 'postgres', url: own.url });
  @Module({
    imports: [connection, DelayQueueModule.forRoot(), TerminusModule.forRoot({ logger: false })],
    controllers: [HealthController],
  })
  class Application {}
  const app = await NestFactory.create(Application, { logger: false, abortOnError: false });
  try {
    await app.listen(0, '127.0.0.1');
    const answer = await fetch(`${await app.getUrl()}/health`);
    expect(await answer.json()).toMatchObject({
      status: 'ok',
      details: { delays: { status: 'up' } },
    });
  } finally {
    await app.close();
    blocks.remove();
    await own.drop();
  }
});
