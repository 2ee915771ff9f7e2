import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayHealth, type HealthReason, type HealthReport } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler, signal } from '../support/delay-node.js';
import { OpenTransactions } from '../support/open-transactions.js';
import { clientTelling } from '../support/sent-statements.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';
import { DatabaseClock, Engine, RESOLVED_OPTIONS } from '../support/engine-parts.js';

const NAME = 'test.served';

let stage: Stage;
const transactions = new OpenTransactions();

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  await transactions.rollbackAll();
  await stage.close({ force: true });
});

/** Of that node, without anything kept from before. */
const healthOf = ({ app, events }: DelayNode): DelayHealth =>
  new DelayHealth(app.get(Engine), events, app.get(RESOLVED_OPTIONS));

const start = (
  act: () => void | Promise<void> = () => {},
  options: Parameters<typeof plainHandler>[2] = {},
): Promise<DelayNode> => stage.start({ providers: [plainHandler(NAME, act, options)] });

const found = ({ reasons }: HealthReport): HealthReason['reason'][] =>
  reasons.map(({ reason }) => reason);

it('a node with nothing to do, one that runs what is due, and one that only schedules are up', async () => {
  const node = await start();
  expect(await node.app.get(DelayHealth).check()).toEqual({ status: 'up', reasons: [] });
  const ended = node.next('completed');
  await node.delays.schedule(NAME, null, { after: 0 });
  await ended;
  expect(await healthOf(node).check()).toEqual({ status: 'up', reasons: [] });
  expect(node.app.get(DelayHealth).live()).toEqual({ status: 'up', reasons: [] });
  const schedules = await stage.start({ options: { worker: false } });
  expect(await healthOf(schedules).check()).toEqual({ status: 'up', reasons: [] });
});

/** A node that was heard that long ago and has not left. */
const heard = (node: string, ago: string, idleFor?: string): Promise<unknown> =>
  stage.sql(
    `INSERT INTO delay_queue.node (id, names, seen_at, idle_until, started_at, present)
     VALUES ($1, '{}', now() - $2::interval, now() + $3::interval, now(), false)`,
    [node, ago, idleFor ?? null],
  );

describe('the backlog', () => {
  it('is late beside what the node runs, with its size and age, once a delay waits for longer than it may', async () => {
    const release = signal();
    await stage.overdue(NAME, 3);
    const began = signal();
    const node = await start(
      () => {
        began.resolve();
        return release.promise;
      },
      { concurrency: 1 },
    );
    await began.promise;
    const health = healthOf(node);
    const report = await health.check({ lateAfter: '30s' });
    expect(report).toMatchObject({
      status: 'degraded',
      reasons: [{ reason: 'late', name: NAME, late: 2, running: 1, concurrency: 1 }],
    });
    const [reason] = report.reasons as Extract<HealthReason, { reason: 'late' }>[];
    expect(reason?.oldestLateMs).toBeGreaterThanOrEqual(60_000);
    expect(reason?.text).toMatch(
      /^2 delays of test\.served are late, the oldest by 1 min.*; this node runs 1 of at most 1$/,
    );
    expect(await health.check({ lateAfter: '24h' })).toEqual({ status: 'up', reasons: [] });
    release.resolve();
  });

  it('that a pause or a limit holds is not late', async () => {
    const release = signal();
    await stage.overdue('test.paused', 2);
    await stage.overdue(NAME, 3);
    const node = await start(() => release.promise, { global: { concurrency: 1 } });
    await node.admin.pause('test.paused');
    await until(
      () => node.admin.stats(),
      ({ names }) =>
        names.some(({ name, overdueLimited }) => name === NAME && overdueLimited === 2),
    );
    const health = healthOf(node);
    expect(await health.check({ lateAfter: '30s' })).toEqual({ status: 'up', reasons: [] });
    const { status, reasons } = await health.check({ heldAfter: '30s' });
    expect(status).toBe('degraded');
    expect(reasons).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ reason: 'held', name: 'test.paused', by: 'pause', held: 2 }),
        expect.objectContaining({ reason: 'held', name: NAME, by: 'limit', held: 2 }),
      ]),
    );
    release.resolve();
  });

  it('of a name without a node says so', async () => {
    const node = await start();
    await stage.overdue('test.gone', 2);
    const report = await healthOf(node).check({ lateAfter: '30s' });
    expect(report.status).toBe('degraded');
    expect(report.reasons).toEqual([
      expect.objectContaining({ reason: 'unserved', name: 'test.gone', late: 2 }),
    ]);
  });

  it('of a name that this node serves is not hidden by a crowd of another', async () => {
    await stage.overdue('test.crowd', 12_000, { secondsAgo: 7_200 });
    await stage.overdue(NAME, 4, { secondsAgo: 600 });
    const release = signal();
    const node = await start(() => release.promise, { concurrency: 1 });
    await until(
      () => node.app.get(DelayHealth).figures(),
      ({ ready, names }) => ready === 3 && names[0]?.running === 1,
    );
    const { reasons } = await healthOf(node).check();
    expect(reasons).toEqual([
      expect.objectContaining({ reason: 'unserved', name: 'test.crowd', late: 10_000 }),
      expect.objectContaining({ reason: 'late', name: NAME, late: 3, running: 1 }),
    ]);
    release.resolve();
  });

  it('of dead letters counts from more than there may be', async () => {
    const node = await start();
    await stage.sql(
      `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
       SELECT '${NAME}', 'null', now(), 'infinity', now() FROM generate_series(1, 3)`,
    );
    const health = healthOf(node);
    expect(await health.check({ deadLettersMax: 3 })).toEqual({ status: 'up', reasons: [] });
    expect(await health.check({ deadLettersMax: 2 })).toMatchObject({
      status: 'degraded',
      reasons: [{ reason: 'deadLetters', dead: 3, deadLettersMax: 2 }],
    });
  });
});

describe('the database', () => {
  it('that is gone makes the node down, not the process, until it is back', async () => {
    const node = await start();
    await until(
      () => node.app.get(DelayHealth).figures(),
      ({ backlog }) => backlog !== null,
    );
    const [{ name } = { name: '' }] = await stage.sql<{ name: string }>(
      'SELECT current_database() AS name',
    );
    const allow = (isAllowed: boolean): Promise<unknown> =>
      stage.sql(`UPDATE pg_database SET datallowconn = ${isAllowed} WHERE datname = '${name}'`);
    await allow(false);
    await stage.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name <> 'stage'`,
    );
    const health = healthOf(node);
    expect(health.knownReasons()).toEqual([]);
    const knew = node.app.get(DelayHealth);
    const report = await health.check();
    expect(report.status).toBe('down');
    expect(found(report)).toEqual(['databaseGone']);
    // Meanwhile a task may have failed for long enough to be told of as well.
    expect(health.knownReasons()).toEqual(expect.arrayContaining(report.reasons));
    // Figures of before are none of now.
    await until(
      () => knew.figures(),
      ({ backlog }) => backlog === null,
    );
    expect(healthOf(node).live()).toEqual({ status: 'up', reasons: [] });
    await allow(true);
    await until(
      () => healthOf(node).check(),
      ({ status }) => status === 'up',
    );
  });

  it('that accepts no writes makes the node down', async () => {
    const node = await start();
    await stage.set({ default_transaction_read_only: 'on' });
    await stage.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name <> 'stage'`,
    );
    const report = await until(
      () => healthOf(node).check(),
      ({ reasons }) => reasons.some(({ reason }) => reason === 'databaseReadOnly'),
    );
    expect(report.status).toBe('down');
    expect(report.reasons[0]?.reason).toBe('databaseReadOnly');
  });

  it('whose rows a transaction keeps from vacuum names it', async () => {
    const node = await start();
    const { manager } = await transactions.begin(node.dataSource, 'REPEATABLE READ');
    await manager.query('SELECT FROM delay_queue.delay');
    await stage.until<{ age: number }>(
      `SELECT extract(epoch FROM now() - xact_start)::float8 AS age FROM pg_stat_activity
       WHERE datname = current_database() AND backend_xmin IS NOT NULL
         AND state = 'idle in transaction'`,
      ([row]) => (row?.age ?? 0) > 1,
    );
    const report = await healthOf(node).check({ snapshotAfter: '1s' });
    expect(report.reasons).toEqual([
      expect.objectContaining({
        reason: 'snapshotHeld',
        holder: expect.stringMatching(/^session \d+.*, idle in transaction$/),
      }),
    ]);
    expect((await healthOf(node).check()).status).toBe('up');
  });

  it('that vacuums a table no more says which', async () => {
    const node = await start();
    await stage.sql('ALTER TABLE delay_queue.history SET (autovacuum_enabled = off)');
    expect((await healthOf(node).check()).reasons).toEqual([
      expect.objectContaining({ reason: 'autovacuumOff', table: 'history' }),
    ]);
  });
});

describe('nodes', () => {
  it('that missed three heartbeats and did not leave are named for five minutes', async () => {
    const node = await start();
    await heard('alive', '10 s');
    await heard('killed', '40 s');
    await heard('killed before', '2 min');
    await heard('forgotten', '6 min');
    await heard('idle', '90 s', '1 min');
    const report = await healthOf(node).check();
    expect(report).toMatchObject({
      status: 'degraded',
      reasons: [
        { reason: 'nodeSilent', node: 'killed' },
        { reason: 'nodeSilent', node: 'killed before' },
      ],
    });
    const [killed] = report.reasons as Extract<HealthReason, { reason: 'nodeSilent' }>[];
    expect(killed?.silentMs).toBeGreaterThanOrEqual(40_000);
    expect(killed?.text).toMatch(
      /^the node killed has been silent for \d+ s: it was killed, hangs, or has lost the database$/,
    );
  });

  it('that left are not named', async () => {
    const node = await start();
    await (await stage.start({ providers: [plainHandler('test.other', () => {})] })).stop();
    expect(await healthOf(node).check()).toEqual({ status: 'up', reasons: [] });
  });
});

it('a clock that jumped is told, and is a reason to look', async () => {
  let clock: DatabaseClock | undefined;
  stage.parts.intercept(DatabaseClock, 'sample', ({ self, real }) => {
    clock = self;
    real();
  });
  const node = await start();
  const health = healthOf(node);
  const jumped = node.next('clockJumped');
  const nowMs = performance.now();
  clock?.sample(nowMs, nowMs, clock.nowMs() + 3_600_000);
  expect((await jumped).byMs).toBeCloseTo(3_600_000, -2);
  expect(await health.check()).toMatchObject({
    status: 'degraded',
    reasons: [{ reason: 'clockJumped', text: expect.stringContaining('forward by 1 h') }],
  });
});

it('before the start and after the end the node is down', async () => {
  const node = await start();
  const health = healthOf(node);
  await health.check();
  expect(health.figures().backlog).not.toBeNull();
  await node.stop();
  expect(health.figures()).toMatchObject({ names: [], loadAgeMs: null, backlog: null });
  expect(await health.check()).toMatchObject({
    status: 'down',
    reasons: [{ reason: 'notRunning', state: 'stopped' }],
  });
});

const isOfHealth = (text: string): boolean =>
  /is_read_only|w\.oldest_ms|held_ms|is_vacuumed/.test(text);

it('however many ask, the database is asked once', async () => {
  const asked: string[] = [];
  const Client = clientTelling((text) => void asked.push(text));
  const node = await stage.start({ providers: [plainHandler(NAME, () => {})], Client });
  const health = node.app.get(DelayHealth);
  asked.length = 0;
  await Promise.all(Array.from({ length: 20 }, () => health.check()));
  await health.check({ deadLettersMax: 0 });
  expect(asked.filter(isOfHealth)).toHaveLength(4);
});

it.each([
  [{ lateAfter: 'soon' }, 'lateAfter'],
  [{ heldAfter: 0 }, 'heldAfter'],
  [{ deadLettersMax: -1 }, 'deadLettersMax'],
  [{ snapshotAfter: '8d' }, 'snapshotAfter'],
  [{ late: '1m' }, 'options.late'],
])('refuses %j', async (options, field) => {
  const node = await start();
  await expect(healthOf(node).check(options as never)).rejects.toMatchObject({
    code: 'DELAY_INVALID',
    field,
  });
});

it('figures show what runs and waits here, and what the database said last', async () => {
  const release = signal();
  const began = signal();
  await stage.overdue(NAME, 3);
  const node = await start(
    () => {
      began.resolve();
      return release.promise;
    },
    { concurrency: 1, maxAttempts: 1 },
  );
  await began.promise;
  await node.delays.schedule(NAME, null, { after: '20s' });
  const health = healthOf(node);
  // The first scan may have found the delays while the first load is still unanswered.
  const { loadAgeMs: _, ...figures } = health.figures();
  expect(figures).toEqual({
    names: [{ name: NAME, running: 1, prefetched: 0, concurrency: 1 }],
    watched: 3,
    ready: 2,
    backlog: null,
    connections: { used: expect.any(Number), idle: expect.any(Number) },
  });
  const { backlog, loadAgeMs } = await until(
    () => health.figures(),
    (later) => later.backlog !== null && later.loadAgeMs !== null,
  );
  expect(loadAgeMs).toBeGreaterThanOrEqual(0);
  expect(backlog).toEqual({
    ageMs: expect.any(Number),
    dead: 0,
    dueSoon: 1,
    overdue: [
      { name: NAME, isServed: true, heldBy: null, overdue: 2, oldestMs: expect.any(Number) },
    ],
  });
  release.resolve();
});

/** A result of Terminus. */
const shows = (status: string) => (data: object) => ({ status, ...data });

it('is what Terminus shows: a status of its own for degraded where it has one', async () => {
  const node = await start();
  await stage.sql('ALTER TABLE delay_queue.history SET (autovacuum_enabled = off)');
  const eleven = { up: shows('up'), down: shows('down') };
  const reasons = ['autovacuum is off for history'];
  expect(await healthOf(node).indicate(eleven)).toEqual({ status: 'up', reasons });
  const twelve = { ...eleven, degraded: shows('degraded') };
  expect(await healthOf(node).indicate(twelve)).toEqual({ status: 'degraded', reasons });
  await node.stop();
  expect(await healthOf(node).indicate(twelve)).toMatchObject({ status: 'down' });
});
