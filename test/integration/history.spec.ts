import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DiscardDelay } from 'nestjs-delay-queue';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, fencedHandler, plainHandler, startNode } from '../support/delay-node.js';
import { OtherNode } from '../support/other-node.js';

const NAME = 'test.told';
const KEY = 'k';
const NODE_NAME = 'node-of-the-test';

let database: TestDatabase;
let node: DelayNode;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await node?.stop();
  await database.drop();
});

const start = async (
  handler?: ReturnType<typeof plainHandler>,
  options: { history?: false } = {},
): Promise<void> => {
  const providers = handler ? [handler] : [];
  node = await startNode({
    url: database.url,
    providers,
    options: { nodeName: NODE_NAME, ...options },
  });
};

const schedule = (after: number | '1h' = 0) =>
  node.delays.schedule(NAME, null, { after, key: KEY });

const history = () => node.delays.history(NAME, KEY);

const lines = async (): Promise<number> =>
  (await node.dataSource.query('SELECT count(*)::int AS lines FROM delay_queue.history'))[0].lines;

const failing = (throws: () => unknown, maxAttempts = 1) =>
  plainHandler(
    NAME,
    () => {
      throw throws();
    },
    { maxAttempts, backoff: () => 1 },
  );

const fill = (count: number, endedBefore: string) =>
  node.dataSource.query(
    `INSERT INTO delay_queue.history
       (id, ended_at, due_at, created_at, epoch, attempts, state, name)
     SELECT n, now() - $2::interval - n * interval '1 ms', now(), now(), 0, 1, 'completed', 'x'
     FROM generate_series(1, $1::int) n`,
    [count, endedBefore],
  );

describe('what ended is told', () => {
  it.each([
    ['plain', plainHandler],
    ['transactional', fencedHandler],
  ] as const)('when a %s handler completed it', async (_kind, handler) => {
    await start(handler(NAME, () => {}));
    const completed = node.next('completed');
    const { id, dueAt } = await schedule();
    const { latenessMs } = await completed;
    expect(await history()).toEqual([
      {
        id,
        name: NAME,
        key: KEY,
        state: 'completed',
        dueAt,
        createdAt: expect.any(Date),
        endedAt: expect.any(Date),
        latenessMs,
        attempts: 1,
        node: NODE_NAME,
        error: null,
      },
    ]);
    const [{ createdAt, endedAt } = { createdAt: 0, endedAt: 0 }] = await history();
    expect(Number(createdAt)).toBeLessThanOrEqual(Number(dueAt));
    expect(Number(endedAt)).toBeGreaterThanOrEqual(Number(dueAt));
    expect(latenessMs).toBeGreaterThanOrEqual(0);
  });

  it('with the attempts it took', async () => {
    let runs = 0;
    const handler = () => {
      runs += 1;
      if (runs < 3) throw new Error(`no. ${runs}`);
    };
    await start(plainHandler(NAME, handler, { backoff: () => 1 }));
    const completed = node.next('completed');
    await schedule();
    await completed;
    expect(await history()).toMatchObject([{ state: 'completed', attempts: 3 }]);
  });

  it('when it was cancelled: no attempt, no node, no lateness', async () => {
    await start();
    const { id, dueAt } = await schedule('1h');
    await node.delays.cancel(NAME, KEY);
    expect(await history()).toMatchObject([
      { id, state: 'cancelled', dueAt, attempts: 0, node: null, latenessMs: null, error: null },
    ]);
  });

  it('when it was cancelled between two attempts: with the last error', async () => {
    await start();
    const { id } = await schedule();
    await new OtherNode(node.dataSource).claimAndFail(id, 3_600_000, 'Error: busy');
    await node.delays.cancel(NAME, KEY);
    expect(await history()).toMatchObject([
      { state: 'cancelled', attempts: 1, error: 'Error: busy' },
    ]);
  });

  it('when a dead letter was cancelled: discarded, with the error it died of', async () => {
    await start(failing(() => new Error('broken'), 2));
    const dead = node.next('dead');
    await schedule();
    await dead;
    expect(await history()).toEqual([]);
    expect(await node.delays.cancel(NAME, KEY)).toMatchObject({ verdict: 'cancelled' });
    expect(await history()).toMatchObject([
      { state: 'discarded', attempts: 2, error: 'Error: broken' },
    ]);
  });

  it('when the handler discarded it and it was cleared away: with the reason', async () => {
    await start(failing(() => new DiscardDelay('no such order'), 5));
    const dead = node.next('dead');
    await schedule();
    await dead;
    const found = await node.delays.find(NAME, KEY);
    expect(found).toMatchObject({ state: 'dead', attempts: 1, lastError: 'no such order' });
    await node.delays.cancel(NAME, KEY);
    expect(await history()).toMatchObject([
      { state: 'discarded', attempts: 1, error: 'no such order' },
    ]);
  });

  it('when a dead letter was revived by a schedule: the old life is discarded', async () => {
    await start();
    const first = await schedule();
    await new OtherNode(node.dataSource).claimAndFail(first.id, null, 'Error: first life');
    const second = await schedule('1h');
    expect(second).toMatchObject({ verdict: 'scheduled', id: first.id });
    expect(await history()).toMatchObject([
      { state: 'discarded', dueAt: first.dueAt, attempts: 1, error: 'Error: first life' },
    ]);
    await node.delays.cancel(NAME, KEY);
    const [last, before] = await history();
    expect(last).toMatchObject({ state: 'cancelled', dueAt: second.dueAt, attempts: 0 });
    expect(before).toMatchObject({ state: 'discarded' });
    expect(Number(last?.createdAt)).toBeGreaterThanOrEqual(Number(before?.endedAt));
  });

  it('newest first, a hundred lines at most, of that name and key alone', async () => {
    await start();
    await node.dataSource.query(
      `INSERT INTO delay_queue.history
         (id, ended_at, due_at, created_at, epoch, attempts, state, name, key)
       SELECT row_number() OVER (), now() - n * interval '1 s', now(), now(), 0, n, 'completed',
              name, key
       FROM generate_series(1, 150) n, (VALUES ($1::text, $2::text), ($1, 'else'), ('x', $2)) k(name, key)`,
      [NAME, KEY],
    );
    const told = await history();
    expect(told.map(({ attempts }) => attempts)).toEqual(
      Array.from({ length: 100 }, (_, n) => n + 1),
    );
  });
});

describe('without history', () => {
  it('nothing is written by any end, and everything else works', async () => {
    let rounds = 0;
    const handler = plainHandler(NAME, async () => {
      rounds += 1;
      if (rounds === 1) await schedule();
    });
    await start(handler, { history: false });
    const completed = node.next('completed');
    await schedule();
    await completed;
    await schedule('1h');
    await node.delays.cancel(NAME, KEY);
    const { id } = await node.delays.schedule('test.a', { n: 1 }, { after: 0, key: KEY });
    await new OtherNode(node.dataSource).claimAndFail(id, null);
    await node.delays.schedule('test.a', { n: 2 }, { after: '1h', key: KEY });
    expect(await node.delays.find('test.a', KEY)).toMatchObject({ payload: { n: 2 } });
    expect(rounds).toBe(2);
    expect(await lines()).toBe(0);
    expect(await history()).toEqual([]);
  });
});

describe('pruning', () => {
  it('takes what is too old, the oldest first, no more than its limit at a time', async () => {
    await start();
    const other = new OtherNode(node.dataSource);
    await fill(25, '2 h');
    await fill(5, '0 s');
    const oldest = async (): Promise<string[]> =>
      (
        await node.dataSource.query('SELECT id FROM delay_queue.history ORDER BY ended_at LIMIT 1')
      ).map(({ id }: { id: string }) => id);
    expect(await other.node.prune(3_600_000, 10)).toBe(10);
    expect(await oldest()).toEqual(['15']);
    expect(await other.node.prune(3_600_000, 10)).toBe(10);
    expect(await other.node.prune(3_600_000, 10)).toBe(5);
    expect(await other.node.prune(3_600_000, 10)).toBe(0);
    expect(await lines()).toBe(5);
  });

  it('by two nodes at once takes every line once and waits for nobody', async () => {
    await start();
    await fill(2_000, '2 h');
    const other = new OtherNode(node.dataSource);
    let pruned = 0;
    await Promise.all(
      [1, 2, 3].map(async () => {
        for (;;) {
          const count = await other.node.prune(3_600_000, 100);
          pruned += count;
          if (count === 0 && (await lines()) === 0) return;
        }
      }),
    );
    expect(pruned).toBe(2_000);
  });
});
