import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { type DelayNode, fencedHandler, plainHandler, startNode } from '../support/delay-node.js';
import { PgBouncer } from './support/pgbouncer.js';
import { PooledStage } from './support/pooled-stage.js';
import { sayNotRun } from './support/programs.js';

const isInstalled = PgBouncer.program() !== undefined;
if (!isInstalled) sayNotRun('test/servers/pgbouncer.spec.ts', 'There is no pgbouncer here.');

let stage: PooledStage;

beforeEach(async () => {
  if (!isInstalled) return;
  stage = await PooledStage.open();
  // Without a unique key: what was done twice must show.
  await stage.direct.sql(`CREATE TABLE effect (key text NOT NULL, node text NOT NULL,
    due timestamptz NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())`);
});

afterEach(() => stage?.close());

/** Its only effect commits together with the end of the delay. */
const noted = (node: string) =>
  fencedHandler(
    'test.fenced',
    async ({ key, dueAt }, { manager }) => {
      await manager.query('INSERT INTO effect VALUES ($1, $2, $3)', [key, node, dueAt]);
    },
    { concurrency: 8 },
  );

const many = (count: number, firstMs: number, everyMs: number) =>
  Array.from({ length: count }, (_, n) => ({
    name: 'test.fenced' as const,
    payload: null,
    key: `k${n}`,
    after: firstMs + n * everyMs,
  }));

/** Until no more than so many delays are left that are not dead. */
const untilLeft = (most: number) =>
  stage.direct.until(
    `SELECT FROM delay_queue.delay WHERE wake_at < 'infinity'`,
    ({ length }) => length <= most,
  );

const ledger = () =>
  stage.direct.sql<{ lines: number; keys: number; early: number }>(
    `SELECT count(*)::int AS lines, count(DISTINCT key)::int AS keys,
            count(*) FILTER (WHERE at < due)::int AS early FROM effect`,
  );

function troublesOf(...nodes: DelayNode[]): string[] {
  const troubles: string[] = [];
  for (const { events } of nodes) {
    events.on('taskFailed', ({ task, error }) => troubles.push(`${task}: ${String(error)}`));
  }
  return troubles;
}

(isInstalled ? describe : describe.skip)('behind PgBouncer in transaction mode', () => {
  it('every way in which a delay is written and ends works', async () => {
    const ran: string[] = [];
    const node = await stage.start({
      providers: [
        noted('a'),
        plainHandler('test.plain', ({ key }) => void ran.push(`${key}`)),
        plainHandler('test.twice', ({ attempt }) => {
          if (attempt === 1) throw new Error('not yet');
        }),
        plainHandler('test.discarded', () => {
          throw new DiscardDelay('no');
        }),
        plainHandler('test.later', ({ key }) => {
          ran.push(`${key}`);
          if (ran.filter((each) => each === key).length === 1) throw new PostponeDelay(10);
        }),
      ],
    });
    const troubles = troublesOf(node);
    const { delays, dataSource } = node;
    const far = { after: '1h', key: 'k' } as const;
    const verdicts = [
      await delays.schedule('test.plain', 1, far),
      await delays.schedule('test.plain', 2, far),
      await delays.schedule('test.plain', 3, { ...far, onConflict: 'keep' }),
      await delays.reschedule('test.plain', 'k', { extendBy: 1_000 }),
      await delays.cancel('test.plain', 'k'),
      await delays.cancel('test.plain', 'k'),
    ].map(({ verdict }) => verdict);
    expect(verdicts).toEqual([
      'scheduled',
      'replaced',
      'kept',
      'rescheduled',
      'cancelled',
      'absent',
    ]);
    const undone = dataSource.transaction(async (manager) => {
      await delays.schedule('test.plain', null, { after: 0, key: 'undone', manager });
      throw new Error('roll back');
    });
    await expect(undone).rejects.toThrow('roll back');
    await dataSource.transaction(async (manager) => {
      await delays.schedule('test.plain', null, { after: 0, key: 'plain', manager });
      await delays.schedule('test.fenced', null, { after: 100, key: 'fenced', manager });
    });
    await delays.schedule('test.twice', null, { after: 0, key: 'twice' });
    await delays.schedule('test.later', null, { after: 0, key: 'later' });
    const dead = node.next('dead');
    await delays.schedule('test.discarded', null, { after: 0, key: 'dead' });
    await dead;
    await untilLeft(0);
    expect(ran.toSorted()).toEqual(['later', 'later', 'plain']);
    expect(await ledger()).toEqual([{ lines: 1, keys: 1, early: 0 }]);
    expect(await delays.find('test.discarded', 'dead')).toMatchObject({ state: 'dead' });
    const ends = await stage.direct.sql(
      `SELECT key, state, attempts FROM delay_queue.history ORDER BY key`,
    );
    expect(ends).toEqual([
      { key: 'fenced', state: 'completed', attempts: 1 },
      { key: 'k', state: 'cancelled', attempts: 0 },
      { key: 'later', state: 'completed', attempts: 1 },
      { key: 'plain', state: 'completed', attempts: 1 },
      { key: 'twice', state: 'completed', attempts: 2 },
    ]);
    expect(troubles).toEqual([]);
  });

  it('two nodes share the work, nothing is early and nothing is done twice', async () => {
    const count = 100;
    const [first, second] = await Promise.all([
      stage.start({ providers: [noted('a')], options: { nodeName: 'a' } }),
      stage.start({ providers: [noted('b')], options: { nodeName: 'b' } }),
    ]);
    const troubles = troublesOf(first, second);
    // Each has loaded since the other came, and knows of it.
    await stage.direct.until<{ met: boolean }>(
      `SELECT bool_and(seen_at > (SELECT max(started_at) FROM delay_queue.node)) AS met
       FROM delay_queue.node`,
      ([row]) => row?.met === true,
    );
    await first.delays.scheduleMany(many(count, 500, 5));
    await untilLeft(0);
    expect(await ledger()).toEqual([{ lines: count, keys: count, early: 0 }]);
    const nodes = await stage.direct.sql('SELECT DISTINCT node FROM effect ORDER BY node');
    expect(nodes).toEqual([{ node: 'a' }, { node: 'b' }]);
    expect(troubles).toEqual([]);
  });

  it.each([
    ['whose server connections are ended', 4, endSessions],
    ['that is killed and started again', 2, () => stage.bouncer.restart()],
  ])('a pooler %s: nothing is lost, no transactional effect is doubled', async (_, times, hit) => {
    const count = 150;
    const node = await stage.start({
      providers: [noted('a')],
      options: { maxAttempts: 100, lease: '2s', timeout: '2s' },
    });
    await node.delays.scheduleMany(many(count, 0, 5));
    // While work goes on, and then no more, so that it can end.
    for (let round = 1; round <= times; round += 1) {
      await untilLeft(count - (round * count) / (times * 2));
      await hit();
    }
    await untilLeft(0);
    expect(await ledger()).toEqual([{ lines: count, keys: count, early: 0 }]);
  });
});

function endSessions(): Promise<unknown> {
  return stage.direct.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name <> 'stage'`,
  );
}

(isInstalled ? describe : describe.skip)('behind PgBouncer in statement mode', () => {
  it('no node starts', async () => {
    const { url } = stage.direct;
    const bouncer = await PgBouncer.start({ serverUrl: url, poolSize: 4, mode: 'statement' });
    try {
      const start = startNode({ url: bouncer.url, providers: [] });
      await expect(start).rejects.toMatchObject({
        code: 'DELAY_CONFIG',
        message: expect.stringContaining('set pool_mode = transaction'),
      });
    } finally {
      await bouncer.stop();
    }
  });
});
