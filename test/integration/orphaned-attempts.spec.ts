import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { fencedHandler, signal } from '../support/delay-node.js';
import { clientRunner, OtherNode } from '../support/other-node.js';
import { until } from '../support/until.js';
import { stageOfEach } from './engine/support/stage-of-each.js';
import {
  type ClaimedRow,
  type LimitBound,
  LimitStore,
  type ProcessLock,
  type Wake,
} from '../support/engine-parts.js';

const NAME = 'test.x';
const GONE: ProcessLock = { number: '4611686018427387905', isHeld: true };
/** A number below zero has its first bit in the other half of what `pg_locks` shows. */
const LIVES: ProcessLock = { number: '-4611686018427387905', isHeld: true };
const HEIR: ProcessLock = { number: '3', isHeld: true };
const LEASE_MS = 3_600_000;
const NO_LIMIT: LimitBound = { concurrency: 0, burst: 0, refillPerMs: 0 };

const stage = stageOfEach();

/** A session of its own, and the node that it drives. */
async function withNode(
  lock: ProcessLock,
  work: (node: OtherNode, session: Client) => Promise<void>,
): Promise<void> {
  const session = new Client({ connectionString: stage.url });
  await session.connect();
  try {
    const rows = async <Row>(sql: string, parameters?: unknown[]): Promise<Row> =>
      (await session.query(sql, parameters)).rows as Row;
    await work(new OtherNode({ query: rows as never }, `node ${lock.number}`, { lock }), session);
  } finally {
    await session.end();
  }
}

const heir = (work: (node: OtherNode, session: Client) => Promise<void>): Promise<void> =>
  withNode(HEIR, work);

/** Claimed by a process that holds no such lock, as if it had died: for an hour. */
async function claimed(
  lock: ProcessLock,
  how: { fenced?: boolean; maxAttempts?: number } = {},
): Promise<ClaimedRow> {
  await stage.sql(
    `INSERT INTO delay_queue.delay (name, group_id, payload, due_at, wake_at, created_at)
     VALUES ('${NAME}', 'g', 'null', now(), now() - interval '1 minute', now())`,
  );
  const [row] = await stage.sql<{ id: string }>(
    'SELECT max(id)::text AS id FROM delay_queue.delay',
  );
  let claim!: ClaimedRow;
  await withNode(lock, async (node) => {
    claim = await node.claim(row?.id ?? '', { leaseMs: LEASE_MS, fenced: true, ...how });
  });
  return claim;
}

/** What a sweep of the heir brings. */
async function swept(helpAfterMs: number | null = null, shares = SHARES): Promise<Wake[]> {
  let wakes: Wake[] = [];
  await heir(async ({ node }) => {
    const limits = { scan: 100, limit: 100, helpAfterMs, aheadMs: 15_000 };
    ({ wakes } = await node.sweep(shares, null, { ...limits, processLock: HEIR.number }));
  });
  return wakes;
}

const SHARES = { names: [NAME], counts: [1], ranks: [0], byGroup: [false], leftOut: [] };

const asked = ({ id, epoch }: ClaimedRow, maxAttempts = 10) => [
  { id, epoch, leaseMs: LEASE_MS, maxAttempts, fenced: true },
];

describe('a transactional attempt whose process is gone', () => {
  it('is found at once, and taken over under the next epoch as one that ended without a word', async () => {
    const dead = await claimed(GONE);
    const beforeMs = Date.now();
    const [wake, ...others] = await swept();
    expect(others).toEqual([]);
    expect(wake).toMatchObject({ id: dead.id, epoch: 1, stalled: true, orphaned: true });
    // Not at the look that has found it: whoever lost a connection has another one by then.
    expect(wake?.wakeMs).toBeGreaterThan(beforeMs + 500);
    expect(wake?.wakeMs).toBeLessThan(beforeMs + LEASE_MS / 2);
    await heir(async ({ store }) => {
      expect(await store.claim(asked(dead))).toMatchObject([
        { id: dead.id, epoch: 2, attempts: 2 },
      ]);
    });
    await withNode(GONE, async (node, session) => {
      await session.query('BEGIN');
      await expect(node.remove(dead)).rejects.toThrow('lost');
      await session.query('ROLLBACK');
    });
    expect(await swept()).toEqual([]);
  });

  it('is taken over even while its transaction is open, which then cannot end it', async () => {
    const dead = await claimed(GONE);
    await withNode(GONE, async (node, session) => {
      await session.query('BEGIN; CREATE TABLE effect ()');
      expect(await isTakenOver(dead)).toBe(true);
      await expect(node.remove(dead)).rejects.toThrow('lost');
      await session.query('COMMIT');
    });
    expect(await stage.sql(`SELECT to_regclass('effect') AS effect`)).toEqual([{ effect: null }]);
  });

  it('is found in the share of another node as well, when that is helped', async () => {
    await claimed(GONE);
    const foreign = { ...SHARES, counts: [1_000_003], ranks: [1_000_002] };
    expect(await swept(null, foreign)).toEqual([]);
    expect(await swept(1_000, foreign)).toHaveLength(1);
  });

  it('keeps its place under a limit for the one who takes it over', async () => {
    const dead = await claimed(GONE);
    await stage.sql(
      `INSERT INTO delay_queue.permit (name, group_id, id, epoch) VALUES ('${NAME}', 'g', $1, $2)`,
      [dead.id, dead.epoch],
    );
    await stage.sql(
      `INSERT INTO delay_queue.delay (id, name, group_id, payload, due_at, wake_at, created_at)
       OVERRIDING SYSTEM VALUE VALUES (99, '${NAME}', 'g', 'null', now(), now(), now())`,
    );
    await heir(async (_, session) => {
      const runner = clientRunner(session);
      const limited = new LimitStore(
        { inTransaction: (work) => work(runner) },
        'delay_queue',
        'nothing',
        'heir',
        HEIR,
      );
      const rules = [{ name: NAME, all: NO_LIMIT, perGroup: { ...NO_LIMIT, concurrency: 1 } }];
      const other = { id: 99, epoch: 0, leaseMs: LEASE_MS, maxAttempts: 3 };
      // Its place is taken as long as nobody has it.
      expect((await limited.claim([other], rules)).rows).toEqual([]);
      expect((await limited.claim(asked(dead), rules)).rows).toMatchObject([{ id: dead.id }]);
      expect((await limited.claim([other], rules)).rows).toEqual([]);
      const [count] = await stage.sql('SELECT count(*)::int AS of FROM delay_queue.permit');
      expect(count).toEqual({ of: 1 });
    });
  });
});

/** Whether the heir gets it. */
async function isTakenOver(row: ClaimedRow, maxAttempts?: number): Promise<boolean> {
  let taken = 0;
  await heir(async ({ store }) => {
    taken = (await store.claim(asked(row, maxAttempts))).length;
  });
  return taken > 0;
}

describe('nobody takes over', () => {
  it('what a process has whose lock is held, be its node silent', async () => {
    await withNode(LIVES, async (_, session) => {
      await session.query('SELECT pg_advisory_lock($1::bigint)', [LIVES.number]);
      const row = await claimed(LIVES);
      expect(await swept()).toEqual([]);
      expect(await isTakenOver(row)).toBe(false);
    });
    // The lock goes with its session, which the server ends a moment later.
    const wakes = await until(
      () => swept(),
      ({ length }) => length === 1,
    );
    expect(wakes).toMatchObject([{ orphaned: true }]);
  });

  it.each([
    ['of a plain handler', GONE, { fenced: false }],
    ['of a process that held no lock', { ...GONE, isHeld: false }, {}],
    ['of its own', HEIR, {}],
  ])('an attempt %s', async (_, lock, how) => {
    const row = await claimed(lock, how);
    expect(await swept()).toEqual([]);
    expect(await isTakenOver(row)).toBe(false);
  });

  it('the last attempt, which would make it a dead letter: that waits for the lease', async () => {
    expect(await isTakenOver(await claimed(GONE), 1)).toBe(false);
  });

  it('what a transaction is about to remove, nor what that has removed', async () => {
    const row = await claimed(GONE);
    await withNode(GONE, async (node, session) => {
      await session.query('BEGIN');
      await node.remove(row);
      expect(await isTakenOver(row)).toBe(false);
      await session.query('COMMIT');
      expect(await isTakenOver(row)).toBe(false);
    });
  });

  it('a row that waits for its next attempt, whoever had the one before', async () => {
    const row = await claimed(GONE);
    await withNode(GONE, async ({ store }) => {
      const end = { waitMs: LEASE_MS, movesDue: false, refund: 0, ends: 'failed' } as const;
      await store.retry([{ id: row.id, epoch: row.epoch, error: 'Error: no', ...end }]);
    });
    expect(await swept()).toEqual([]);
    expect(await isTakenOver({ ...row, epoch: row.epoch + 1 })).toBe(false);
  });

  it('what a plain handler has claimed by now, after a transactional attempt of another version', async () => {
    const dead = await claimed(GONE);
    await heir(async ({ store }) => {
      const [plain] = asked(dead);
      await store.claim([{ ...plain!, fenced: false }]);
    });
    const row = { ...dead, epoch: dead.epoch + 1 };
    await withNode({ number: '5', isHeld: true }, async ({ store }) => {
      expect(await store.claim(asked(row))).toEqual([]);
    });
  });
});

it('a node that closes keeps its lock until its attempts are over, and is no peer any more meanwhile', async () => {
  const [began, goes] = [signal(), signal()];
  const node = await stage.start({
    providers: [
      fencedHandler(NAME, async () => {
        began.resolve();
        await goes.promise;
      }),
    ],
  });
  await node.delays.schedule(NAME, null, { after: 0 });
  await began.promise;
  const locks = `SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                 WHERE l.locktype = 'advisory' AND a.datname = current_database()`;
  expect(await stage.sql(locks)).toHaveLength(2);
  const stopped = node.stop();
  const [left] = await stage.until(locks, ({ length }) => length === 1);
  const orphaned = `SELECT FROM delay_queue.delay d WHERE NOT EXISTS (
    SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.pid = $1
      AND (l.classid::bigint << 32 | l.objid::bigint) = d.lease_lock)`;
  expect(await stage.sql(orphaned, [left?.['pid']])).toEqual([]);
  goes.resolve();
  await stopped;
  expect(await stage.sql(locks)).toEqual([]);
});
