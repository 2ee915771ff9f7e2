import { expect, it } from '@jest/globals';
import { delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { type DelayNode, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { OF_THIS_DATABASE } from '../../support/of-this-database.js';
import { EFFECT_TABLE, stageOfEach } from '../engine/support/stage-of-each.js';

const DELAYS = 300;
const DEPLOYS = 3;

const stage = stageOfEach({ tables: EFFECT_TABLE });

/** What a starting node does first; its table of migrations is its own, so that it has some to run. */
async function migrate(migrationsTableName: string): Promise<void> {
  const source = new DataSource({
    type: 'postgres',
    url: stage.url,
    migrations: delayQueueMigrations(),
    migrationsTableName,
  });
  await source.initialize();
  await runMigrations(source);
  await source.destroy();
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
  await stage.noneLeft();
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

it('others migrate again while a node works, and a newer version adds to its tables: no attempt is lost', async () => {
  const node = await stage.start({ providers: HANDLERS });
  const troubles: unknown[] = [];
  node.events.on('taskFailed', (trouble) => troubles.push(trouble));
  await scheduleAll(node, 'k', 1_000);
  await Promise.all(Array.from({ length: DEPLOYS }, (_, n) => migrate(`migrations_${n}`)));
  // In one transaction, as a migration does it: the table of delays before that of history, which
  // is the order of every statement of ours.
  await stage.sql(`
    BEGIN;
    ALTER TABLE delay_queue.delay ADD COLUMN priority int NOT NULL DEFAULT 0;
    ALTER TABLE delay_queue.history ADD COLUMN priority int;
    CREATE INDEX delay_priority ON delay_queue.delay (priority);
    COMMIT`);
  await scheduleAll(node, 'after', 100);
  await allDoneByTheirFirstAttempt(2 * DELAYS);
  expect(troubles).toEqual([]);
});

it('a migration that holds the table keeps an attempt from its end for as long, and costs it nothing', async () => {
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
  const troubles: unknown[] = [];
  node.events.on('taskFailed', ({ task }) => troubles.push(task));
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
  await began.promise;
  const session = new Client({ connectionString: stage.url });
  await session.connect();
  try {
    await session.query('BEGIN; ALTER TABLE delay_queue.delay ADD COLUMN priority int');
    end.resolve();
    await stage.until<{ waits: number }>(
      `SELECT count(*)::int AS waits FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE NOT l.granted AND l.relation = 'delay_queue.delay'::regclass
         AND a.application_name <> 'stage' AND l.${OF_THIS_DATABASE}`,
      ([row]) => row?.waits === 1,
    );
    // Longer than it would wait for the row.
    await session.query('SELECT pg_sleep(0.1); COMMIT');
  } finally {
    await session.end();
  }
  expect(await completed).toMatchObject({ key: 'k', attempt: 1 });
  expect(troubles).toEqual([]);
  expect(await stage.sql('SELECT key FROM effect')).toEqual([{ key: 'k' }]);
});
