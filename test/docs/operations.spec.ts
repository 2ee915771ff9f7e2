import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  HealthCheck,
  HealthCheckService,
  HealthIndicatorService,
  TerminusModule,
} from '@nestjs/terminus';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Client } from 'pg';
import {
  DelayHealth,
  DelayQueueModule,
  delayQueueMigrations,
  runMigrations,
} from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { plainHandler, startNode } from '../support/delay-node.js';
import { OtherNode } from '../support/other-node.js';
import { wordsOf } from './compile.js';
import { codeBlocks, readDocument, section } from './documents.js';

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
    ['Dead letters rise', [{ name: 'order.close', error: 'Error: no', dead: '1' }]],
    ['A process restarts again and again', [{ key: 'crashed', attempts: 1, leased_by: GONE }]],
  ])('shows: %s', async (heading, expected) => {
    const rows = await sql(blocksUnder(heading)[0]!);
    expect(rows).toMatchObject(expected);
    expect(rows).toHaveLength(expected.length);
  });

  it('shows: What to watch, by age', async () => {
    const rows = await sql(blocksUnder('What to watch')[0]!);
    expect(rows.map(({ key }) => key)).toEqual(['overdue', 'orphan', 'crashed']);
  });

  it.each<[heading: string, changed: Record<string, unknown>]>([
    ['Make a dead letter by hand', { 'by id': 'dead, epoch 1, 0 attempts' }],
    ['Release', { running: 'due, epoch 2, 1 attempts', crashed: 'due, epoch 2, 1 attempts' }],
  ])('repairs, and changes nothing else: %s', async (heading, expected) => {
    const before = await delaysNow();
    await sql(blocksUnder(heading)[0]!);
    const after = await delaysNow();
    const changed = [...before].filter(([key, was]) => after.get(key) !== was);
    expect(Object.fromEntries(changed.map(([key]) => [key, after.get(key)]))).toEqual(expected);
  });

  it('repairs: a dead letter by hand takes the delay from the attempt that holds it', async () => {
    await sql(`UPDATE delay_queue.delay SET due_at = now(), wake_at = now() WHERE id = 42`);
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
    expect(updates).toHaveLength(3);
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
    await watcher.query(blocksUnder('What to watch')[0]!);
    const payload = watcher.query('SELECT payload FROM delay_queue.delay');
    await expect(payload).rejects.toMatchObject({ code: '42501' });
    await watcher.end();
  });
});

it('the log is told with every task that can fail', () => {
  const told = section(OPERATIONS, 'The log');
  const tasks = wordsOf('src/delay-queue/core/tasks/task-health.ts', 'Task');
  expect(tasks.filter((task) => !told.includes(`\`${task}`))).toEqual([]);
});

it('shows its health as Terminus does', async () => {
  const own = await createTestDatabase();
  @Controller('health')
  class HealthController {
    constructor(
      @Inject(HealthCheckService) private readonly checks: HealthCheckService,
      @Inject(HealthIndicatorService) private readonly indicators: HealthIndicatorService,
      @Inject(DelayHealth) private readonly delays: DelayHealth,
    ) {}

    @Get()
    @HealthCheck()
    check() {
      return this.checks.check([() => this.delays.indicate(this.indicators.check('delays'))]);
    }
  }
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
    await own.drop();
  }
});
