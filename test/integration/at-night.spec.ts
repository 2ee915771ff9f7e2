import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DelayHealth, type HealthOptions, type HealthReason } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { RESOLVED_OPTIONS } from '../../src/delay-queue/core/config/options.js';
import { DatabaseClock } from '../../src/delay-queue/core/database/database-clock.js';
import { Engine } from '../../src/delay-queue/core/engine/engine.js';
import { occupyAttempts } from '../support/attempt-sessions.js';
import { type DelayNode, fencedHandler, plainHandler } from '../support/delay-node.js';
import { IS_LISTENER } from '../support/listener.js';
import { OpenTransactions } from '../support/open-transactions.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';

// oxlint-disable jest/expect-expect -- `toldAs` and `until` expect

/** Twelve faults, as they wake a person: what `explain` says of a delay, and `DelayHealth` of the node. */

const NAME = 'test.plain';
const KEY = '42';

let stage: Stage;
let node: DelayNode;
const transactions = new OpenTransactions();

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  await transactions.rollbackAll();
  await stage.close({ force: true });
});

/** Until the application closes. */
const hang = (_delay: unknown, { signal }: { signal: AbortSignal }): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

const nothing = (): void => {};

const start = async (...given: Parameters<typeof plainHandler>): Promise<void> => {
  node = await stage.start({ providers: [plainHandler(...given)] });
};

const schedule = (key = KEY, group?: string): Promise<unknown> =>
  node.delays.schedule(NAME, null, { after: 0, key, ...(group !== undefined && { group }) });

/** With limits that a test can wait for, and nothing kept from a look before. */
const IMPATIENT: HealthOptions = { lateAfter: '1s', heldAfter: '1s', deadLettersMax: 0 };

const reasons = async (options: HealthOptions = IMPATIENT): Promise<HealthReason[]> => {
  const { app, events } = node;
  const health = new DelayHealth(app.get(Engine), events, app.get(RESOLVED_OPTIONS));
  // It hears of what happens from now on; the application's own has heard it all.
  const [fresh, heard] = await Promise.all([
    health.check(options),
    app.get(DelayHealth).check(options),
  ]);
  return [...fresh.reasons, ...heard.reasons];
};

/** Both say so in the end. */
async function toldAs(
  explained: string | undefined,
  reason: HealthReason['reason'] | undefined,
): Promise<void> {
  if (explained !== undefined) {
    await until(
      () => node.admin.explain(NAME, KEY),
      (explanation) => explanation.reason === explained,
    );
  }
  if (reason !== undefined) {
    await until(
      () => reasons(),
      (all) => all.some((each) => each.reason === reason),
    );
  }
}

it('a poison payload: dead', async () => {
  await start(NAME, () => Promise.reject(new Error('cannot read it')), { maxAttempts: 1 });
  await schedule();
  await toldAs('dead', 'deadLetters');
  expect(await node.admin.explain(NAME, KEY)).toMatchObject({
    error: 'Error: cannot read it',
    attempts: 1,
  });
});

it('a handler that hangs: what waits behind it is queued and late, what it runs is running', async () => {
  await start(NAME, hang, { concurrency: 1 });
  const began = node.next('started');
  await schedule('1');
  await began;
  await schedule();
  await toldAs('queued', 'late');
  expect(await node.admin.explain(NAME, '1')).toMatchObject({ reason: 'running', attempt: 1 });
  const late = (await reasons()).find(({ reason }) => reason === 'late');
  expect(late).toMatchObject({ running: 1, concurrency: 1 });
});

it('a name without a node: unserved', async () => {
  await start('test.b', nothing);
  await schedule();
  await toldAs('unserved', 'unserved');
});

it('a pause that was forgotten: paused, by whom and why', async () => {
  await start(NAME, nothing);
  await node.admin.pause(NAME, { reason: 'the bank is down', by: 'ann' });
  await schedule();
  await toldAs('paused', 'held');
  expect(await node.admin.explain(NAME, KEY)).toMatchObject({
    why: 'the bank is down',
    by: 'ann',
    until: null,
  });
});

it('a limit of one: throttled, one of one', async () => {
  await start(NAME, hang, { global: { concurrency: 1 } });
  const began = node.next('started');
  await schedule('1');
  await began;
  await schedule();
  await toldAs('throttled', 'held');
  expect(await node.admin.explain(NAME, KEY)).toMatchObject({ running: 1, of: 1 });
});

it('a snapshot that is held: the session', async () => {
  await start(NAME, nothing);
  const { manager } = await transactions.begin(node.dataSource, 'REPEATABLE READ');
  await manager.query('SELECT FROM delay_queue.delay');
  await stage.until<{ age: number }>(
    `SELECT extract(epoch FROM now() - xact_start)::float8 AS age FROM pg_stat_activity
     WHERE datname = current_database() AND backend_xmin IS NOT NULL
         AND state = 'idle in transaction'`,
    ([row]) => (row?.age ?? 0) > 1,
  );
  const held = (await reasons({ snapshotAfter: '1s' })).find(
    ({ reason }) => reason === 'snapshotHeld',
  );
  expect(held?.text).toMatch(/^session \d+ .* has held a snapshot for \d+ s/);
});

it('LISTEN that is lost: so', async () => {
  let isDeaf = false;
  class DeafClient extends Client {
    override query(...all: unknown[]): never {
      const [asked] = all as [string | { text: string }];
      const text = typeof asked === 'string' ? asked : asked.text;
      const query: (...given: unknown[]) => unknown = super.query.bind(this);
      if (isDeaf && text.startsWith('LISTEN')) return query('LISTEN') as never;
      return query(...all) as never;
    }
  }
  node = await stage.start({ providers: [plainHandler(NAME, nothing)], Client: DeafClient });
  isDeaf = true;
  await stage.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${IS_LISTENER}`,
  );
  await toldAs(undefined, 'listenLost');
});

it('a database that is gone: so, and only that', async () => {
  await start(NAME, nothing);
  const [{ name } = { name: '' }] = await stage.sql<{ name: string }>(
    'SELECT current_database() AS name',
  );
  await stage.sql(`UPDATE pg_database SET datallowconn = false WHERE datname = '${name}'`);
  await stage.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name <> 'stage'`,
  );
  await toldAs(undefined, 'databaseGone');
  await stage.sql(`UPDATE pg_database SET datallowconn = true WHERE datname = '${name}'`);
});

it('sessions for attempts that are used up: begin fails', async () => {
  node = await stage.start({ providers: [fencedHandler(NAME, nothing)], poolMax: 2 });
  const release = await occupyAttempts(node, 2, 100);
  await node.delays.schedule(NAME, null, { after: 0, key: KEY });
  await until(
    () => reasons(),
    (all) => all.some((each) => each.reason === 'taskFailing' && each.task === 'begin'),
  );
  release();
});

it("a group's crowd: queued, with so many of the group in front", async () => {
  await start(NAME, hang, { concurrency: 1 });
  const began = node.next('started');
  const crowd = Array.from({ length: 30 }, (_, n) => ({
    name: NAME as typeof NAME,
    payload: null,
    key: n === 29 ? KEY : String(10 + n),
    group: 'crowd',
    after: 0,
  }));
  await node.delays.scheduleMany(crowd);
  await began;
  await toldAs('queued', 'late');
  expect(await node.admin.explain(NAME, KEY)).toMatchObject({
    beforeInGroup: 28,
    beforeInName: 28,
    nodes: [{ running: 1 }],
  });
});

it('a clock that jumped: by how much', async () => {
  let clock: DatabaseClock | undefined;
  stage.parts.intercept(DatabaseClock, 'sample', ({ self, real }) => {
    clock = self;
    real();
  });
  await start(NAME, nothing);
  const nowMs = performance.now();
  clock?.sample(nowMs, nowMs, clock.nowMs() - 90_000);
  const jumped = (await reasons()).find(({ reason }) => reason === 'clockJumped');
  expect(jumped?.text).toMatch(/back by 1 min 30 s/);
});

it('a node that died: its attempt is orphaned until its lease ends', async () => {
  await start('test.b', nothing);
  await stage.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, epoch, attempts, leased_by, leased_until)
     SELECT '${NAME}', '${KEY}', 'null', t, t, t, 1, 1, 'gone', t + interval '30 s'
     FROM date_trunc('milliseconds', clock_timestamp()) AS t`,
  );
  await toldAs('orphaned', undefined);
  expect(await node.admin.explain(NAME, KEY)).toMatchObject({ node: 'gone', attempt: 1 });
});
