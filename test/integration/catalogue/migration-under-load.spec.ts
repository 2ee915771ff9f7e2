import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { type DelayNode, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';

const DELAYS = 1_000;
const DEPLOYS = 12;

let stage: Stage;
let sources: DataSource[];

beforeEach(async () => {
  sources = [];
  stage = await Stage.open();
  await stage.sql('CREATE TABLE effect (key text NOT NULL)');
});

afterEach(async () => {
  await Promise.all(sources.map((source) => source.destroy()));
  await stage.close();
});

/** What a starting node does first; its table of migrations is its own, so that it has some to run. */
async function migrate(migrationsTableName: string): Promise<void> {
  const source = new DataSource({
    type: 'postgres',
    url: stage.url,
    migrations: delayQueueMigrations(),
    migrationsTableName,
  });
  sources.push(source);
  await source.initialize();
  await runMigrations(source);
}

const HANDLERS = [
  plainHandler('test.plain', () => {}),
  fencedHandler('test.fenced', async ({ key }, { manager }) => {
    await manager.query('INSERT INTO effect VALUES ($1)', [key]);
  }),
];

const scheduleAll = ({ delays }: DelayNode, prefix: string, spreadMs: number) =>
  delays.scheduleMany(
    Array.from({ length: DELAYS }, (_, n) => ({
      name: n % 2 === 0 ? 'test.plain' : 'test.fenced',
      payload: n,
      key: `${prefix}${n}`,
      after: (n * spreadMs) / DELAYS,
    })),
  );

async function allDoneByTheirFirstAttempt(count: number): Promise<void> {
  await stage.until('SELECT FROM delay_queue.delay LIMIT 1', (rows) => rows.length === 0);
  expect(
    await stage.sql(
      'SELECT state, attempts, count(*)::int AS count FROM delay_queue.history GROUP BY 1, 2',
    ),
  ).toEqual([{ state: 'completed', attempts: 1, count }]);
  const [effects] = await stage.sql<{ lines: number; keys: number }>(
    'SELECT count(*)::int AS lines, count(DISTINCT key)::int AS keys FROM effect',
  );
  expect(effects).toEqual({ lines: count / 2, keys: count / 2 });
}

describe('while nodes work', () => {
  it('others start and run the migrations again: no deadlock, no attempt lost', async () => {
    const node = await stage.start({ providers: HANDLERS });
    const troubles: unknown[] = [];
    node.events.on('trouble', (trouble) => troubles.push(trouble));
    await scheduleAll(node, 'k', 2_000);
    await Promise.all(Array.from({ length: DEPLOYS }, (_, n) => migrate(`migrations_${n}`)));
    await allDoneByTheirFirstAttempt(DELAYS);
    expect(troubles).toEqual([]);
  });

  it('a newer version adds to the tables: the old one goes on beside it', async () => {
    const old = await stage.start({ providers: HANDLERS, options: { nodeName: 'old' } });
    await scheduleAll(old, 'before', 2_000);
    // In one transaction, as a migration does it: the table of delays before that of history, which
    // is the order of every statement of ours.
    await stage.sql(`
      BEGIN;
      ALTER TABLE delay_queue.delay ADD COLUMN priority int NOT NULL DEFAULT 0;
      ALTER TABLE delay_queue.history ADD COLUMN priority int;
      CREATE INDEX delay_priority ON delay_queue.delay (priority);
      COMMIT`);
    await scheduleAll(old, 'after', 500);
    const replaced = await old.delays.schedule('test.plain', 0, { after: '1h', key: 'moved' });
    expect(replaced.verdict).toBe('scheduled');
    expect(await old.delays.cancel('test.plain', 'moved')).toMatchObject({ verdict: 'cancelled' });
    await stage.sql(`DELETE FROM delay_queue.history WHERE key = 'moved'`);
    await allDoneByTheirFirstAttempt(2 * DELAYS);
  });
});

it('a migration that waits for a transactional handler does not keep it from its end', async () => {
  const began = signal();
  const end = signal();
  const node = await stage.start({
    providers: [
      fencedHandler('test.fenced', async ({ key }, { manager }) => {
        await manager.query('INSERT INTO effect VALUES ($1)', [key]);
        began.resolve();
        await end.promise;
      }),
    ],
  });
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
  await began.promise;
  // It waits for the fence, and stands in front of the handler's last statement.
  const altered = stage.sql('ALTER TABLE delay_queue.delay ADD COLUMN priority int');
  await stage.until<{ waits: number }>(
    `SELECT count(*)::int AS waits FROM pg_locks
     WHERE NOT granted AND relation = 'delay_queue.delay'::regclass
       AND mode = 'AccessExclusiveLock'`,
    ([row]) => row?.waits === 1,
  );
  end.resolve();
  expect(await completed).toMatchObject({ key: 'k', attempt: 1 });
  await altered;
  expect(await stage.sql('SELECT key FROM effect')).toEqual([{ key: 'k' }]);
});
