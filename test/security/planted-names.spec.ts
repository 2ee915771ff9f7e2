import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Delay,
  delayQueueMigrations,
  OnDeadDelay,
  OnDelay,
  type OwnTransactionDelayContext,
  RepeatDelay,
  runMigrations,
} from 'nestjs-delay-queue';
import { DelayTesting } from 'nestjs-delay-queue/testing';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { fencedHandler, plainHandler, startNode } from '../support/delay-node.js';
import { everyStatement } from '../support/every-statement.js';
import { OtherNode } from '../support/other-node.js';
import {
  plant,
  plantedCalls,
  plantedIn,
  plantedUnder,
  PLANTED_FIRST,
  STRANGERS_PATH,
  USUAL_PATH,
} from '../support/planted.js';
import { clientTelling } from '../support/sent-statements.js';
import { isPiece, sqlInSources } from '../support/sql-in-sources.js';
import { raiseIdsSql, takeAdvisoryLock } from '../support/statements.js';

/** Another role has created functions and operators in schemas of the path. */
let database: TestDatabase;
let client: Client;
const sent = new Set<string>();
const troubles: unknown[] = [];

/** Not what doctor tells a person to run, which calls nothing. */
const PIECES = sqlInSources().filter(
  ({ file, text }) => isPiece(text) && !/^ops\/checks\/(?:server|tables)\.ts$/.test(file),
);

/** A statement that was sent by us, and not by TypeORM, and can be walked. */
const isOurs = (text: string): boolean =>
  /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text) &&
  !text.includes('"walked"') &&
  PIECES.some((piece) => piece.text.length > 20 && text.includes(piece.text));

class Others {
  @OnDeadDelay('test.fails')
  die(): void {}

  @OnDelay('test.own', { transactional: 'own' })
  async complete(_delay: Delay, ctx: OwnTransactionDelayContext): Promise<void> {
    await inTransaction((tx) => ctx.complete(tx));
  }

  @OnDelay('test.recurs')
  @RepeatDelay('test.recurs', { every: '1h', payload: 1 })
  recur(): void {}
}

const providers = [
  Others,
  plainHandler('test.plain', () => {}),
  fencedHandler('test.fenced', () => {}, {
    perGroup: { concurrency: 1, rateLimit: { max: 9, per: '1s' } },
  }),
  fencedHandler(
    'test.held',
    (_delay, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  ),
  plainHandler(
    'test.fails',
    () => {
      throw new Error('no');
    },
    { maxAttempts: 2, backoff: () => 1 },
  ),
];

beforeAll(async () => {
  database = await createEmptyDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await plant(
    client,
    [...(await everyStatement()), ...PIECES].map(({ text }) => text),
  );
  const name = new URL(database.url).pathname.slice(1);
  await client.query(`ALTER DATABASE ${name} SET search_path = ${USUAL_PATH}`);
  await live();
}, 120_000);

afterAll(async () => {
  await client.end();
  await database.drop();
});

const Telling = clientTelling((text) => void sent.add(text));

const open = (): Promise<DataSource> =>
  new DataSource({
    type: 'postgres',
    url: database.url,
    extra: { Client: Telling },
    migrations: delayQueueMigrations(),
  }).initialize();

/** In a transaction of the application's own. */
async function inTransaction(work: (tx: Client) => Promise<unknown>): Promise<void> {
  const tx = new Telling({ connectionString: database.url });
  await tx.connect();
  await tx.query('BEGIN');
  await work(tx);
  await tx.query('COMMIT');
  await tx.end();
}

/** Of a database, and of a node on it. */
async function live(): Promise<void> {
  const source = await open();
  await runMigrations(source);
  const runner = source.createQueryRunner();
  const [Migration] = delayQueueMigrations({ schema: 'walked' });
  await new Migration!().up(runner);
  await new Migration!().down(runner);
  const held = `SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended('held', 0))`;
  await client.query(held);
  const late = takeAdvisoryLock(runner, 'held', 'a test', 0);
  await expect(late).rejects.toThrow('was not free');
  await client.query(held.replace('_lock', '_unlock'));
  await runner.release();
  await lives();
  await travels();
  await source.destroy();
}

/** Of a node, and of one that calls. */
async function lives(): Promise<void> {
  const options = { history: { attempts: true } };
  const node = await startNode({ url: database.url, Client: Telling, providers, options });
  const caller = await startNode({
    url: database.url,
    Client: Telling,
    options: { ...options, worker: false },
  });
  node.events.on('taskFailed', (trouble) => troubles.push(trouble));
  const { delays, admin, dataSource } = caller;
  const ended = (event: 'completed' | 'dead', of: string) =>
    node.next(event, ({ name }) => name === of);

  const ends = [
    ended('completed', 'test.plain'),
    ended('completed', 'test.fenced'),
    ended('completed', 'test.own'),
    ended('dead', 'test.fails'),
  ];
  await delays.schedule('test.plain', 1, { after: 20, key: 'k' });
  await delays.schedule('test.fenced', 1, { after: 0, key: 'k', group: 'g' });
  await delays.schedule('test.fails', 1, { after: 0, key: 'k' });
  await inTransaction((tx) => delays.schedule('test.own', 1, { after: 0, key: 'k', tx }));
  await Promise.all(ends);
  const again = ended('dead', 'test.fails');
  await delays.retryDead('test.fails', 'k');
  await again;
  const held = node.next('started', ({ name }) => name === 'test.held');
  await delays.schedule('test.held', 1, { after: 0, key: 'k' });
  await held;
  await dataSource.transaction((manager) =>
    delays.cancel('test.held', 'k', { manager, running: 'abort' }),
  );

  const runner = dataSource.createQueryRunner();
  await runner.query('BEGIN');
  const { manager } = runner;
  const later = { after: '1h', key: 'k', headers: { a: 'b' }, group: 'g' } as const;
  await delays.schedule('test.z', 1, { ...later, manager });
  await delays.schedule('test.z', 2, { ...later, manager });
  await delays.scheduleMany([{ name: 'test.z', payload: 1, ...later, key: 'other' }], { manager });
  await delays.reschedule('test.z', 'k', { extendBy: '1h' }, { manager });
  await delays.cancel('test.z', 'k', { manager });
  await runner.query('COMMIT');
  await runner.release();

  await admin.pause('test.z', { group: 'g' });
  await admin.list({ name: 'test.z', headers: { a: 'b' } });
  await admin.stats();
  await admin.groupStats({ name: 'test.z' });
  await admin.story({ name: 'test.z', key: 'other' });
  await admin.runNow({ name: 'test.z' });
  await admin.resume('test.z', { group: 'g' });
  await admin.discardDead({ name: 'test.fails' });
  await admin.history({ name: 'test.fails' });
  await new OtherNode(dataSource).prune(0, 100);
  await caller.stop();
  await node.stop();
}

async function travels(): Promise<void> {
  const tested = await startNode({
    url: database.url,
    Client: Telling,
    providers,
    options: { worker: 'manual' },
  });
  const testing = DelayTesting.of(tested.app);
  await tested.delays.schedule('test.plain', 1, { after: '1h', key: 'k' });
  await testing.advance('2h');
  await testing.drain();
  await testing.clear();
  await tested.stop();
}

it('nothing planted is called in the life of a node', async () => {
  expect(troubles).toEqual([]);
  expect(await plantedCalls(client)).toBe(0);
});

it('nor by the statement that mends identities', async () => {
  await client.query(`SET search_path = ${USUAL_PATH}`);
  await client.query(/SELECT setval.*\)\)\)/.exec(raiseIdsSql('delay_queue'))![0]);
  expect(await plantedCalls(client)).toBe(0);
});

it('no statement finds anything planted, whatever stands before pg_catalog and behind it', async () => {
  const statements = [
    ...(await everyStatement()),
    ...[...sent].filter(isOurs).map((text) => ({ of: 'sent', text })),
  ];
  const unlike = [...new Map(statements.map((statement) => [statement.text, statement])).values()];
  expect(unlike.length).toBeGreaterThan(300);
  await client.query(`SET search_path = ${STRANGERS_PATH}`);
  const found: string[] = [];
  for (const statement of unlike) found.push(...(await plantedIn(client, statement)));
  await client.query('RESET search_path');
  expect(found).toEqual([]);
});

it('no balancer takes a statement for one that a standby may answer', async () => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT DISTINCT proname AS name FROM pg_proc
     WHERE provolatile = 'v' AND pronamespace IN ('pg_catalog'::regnamespace, 'delay_queue'::regnamespace)`,
  );
  const isVolatile = new Set(rows.map(({ name }) => name));
  const goes = (text: string): boolean =>
    /\b(?:INSERT|UPDATE|DELETE)\b/.test(text) ||
    [...text.matchAll(/(\w+)\(/g)].some(([, name]) => isVolatile.has(name!));
  const all = [
    ...(await everyStatement()),
    ...[...sent].filter(isOurs).map((text) => ({ of: 'sent', text })),
  ];
  expect(all.filter(({ text }) => !goes(text))).toEqual([]);
});

describe('where what is planted comes before pg_catalog', () => {
  it('the migration goes by its own path, and puts back the one that was there', async () => {
    const source = await open();
    const runner = source.createQueryRunner();
    await runner.query(`SET search_path = ${PLANTED_FIRST}`);
    const [Migration] = delayQueueMigrations({ schema: 'walked' });
    await runner.startTransaction();
    await new Migration!().up(runner);
    expect(await runner.query('SHOW search_path')).toEqual([{ search_path: PLANTED_FIRST }]);
    await runner.commitTransaction();
    expect(await plantedUnder(client, 'walked')).toEqual([]);
    await new Migration!().down(runner);
    expect(await runner.query('SHOW search_path')).toEqual([{ search_path: PLANTED_FIRST }]);
    expect(await plantedCalls(client)).toBe(0);
    await runner.release();
    await source.destroy();
  });

  it('our functions go by their own', async () => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT proname AS name FROM pg_proc WHERE pronamespace = 'delay_queue'::regnamespace
       AND ('search_path=pg_catalog, pg_temp' = ANY (proconfig)) IS NOT TRUE`,
    );
    expect(rows).toEqual([]);
    await client.query(`SET search_path = ${PLANTED_FIRST}`);
    const { rows: placed } = await client.query<{ id: string }>(
      `SELECT pg_catalog.split_part(delay_queue.schedule_one('test.z'::text, 'k'::text, '1'::text, 1::float8, NULL::timestamptz, NULL::int, NULL::text, NULL::jsonb), ' ', 1) AS id`,
    );
    const { rows: gone } = await client.query<{ id: string }>(
      `SELECT pg_catalog.split_part(delay_queue.cancel_one('test.z'::text, 'k'::text, 'ends'::text), ' ', 1) AS id`,
    );
    await client.query('RESET search_path');
    expect(gone).toEqual(placed);
    expect(gone).toEqual([{ id: expect.stringMatching(/^\d+$/) }]);
  });
});

it('no statement in the sources is left out of the walk', async () => {
  const statements = (await everyStatement()).map(({ text }) => text);
  const walked = [...statements, ...sent, raiseIdsSql('delay_queue')].join('\n;\n');
  const missing = PIECES.filter(({ text }) => !walked.includes(text));
  expect(missing).toEqual([]);
});
