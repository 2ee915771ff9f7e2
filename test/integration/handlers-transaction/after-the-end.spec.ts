import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type DelayEventMap, DelayTransactionOverError } from 'nestjs-delay-queue';
import type { PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import { fencedHandler, signal } from '../../support/delay-node.js';
import { attemptPoolOf } from '../../support/attempt-sessions.js';
import { OneNode } from '../../support/one-node.js';
import { Effect, EFFECT_TABLE, INSERT, OpenCursor, WAYS } from './ways.js';

/** A handler's manager ends with its attempt, whatever it is used through. */
type Run = (manager: EntityManager, attempt: number) => Promise<unknown>;

const HANDLERS = {
  'test.tried': { maxAttempts: 2 },
  'test.once': { maxAttempts: 1 },
  'test.cut': { maxAttempts: 1, timeout: 100 },
};

const POOL = 3;
const ONE_FAILED = new Error('one branch failed');

/** What the handlers do. */
let run: Run;

const node = new OneNode({
  entities: [Effect],
  poolMax: POOL,
  providers: Object.entries(HANDLERS).map(([name, options]) =>
    fencedHandler(
      name as keyof typeof HANDLERS,
      async ({ attempt }, { manager }) => void (await run(manager, attempt)),
      options,
    ),
  ),
});

beforeAll(async () => {
  await node.sql(EFFECT_TABLE);
  // `pg-query-stream` is the application's to install.
  const driver = node.dataSource.driver as unknown as { loadStreamDependency: () => unknown };
  jest.spyOn(driver, 'loadStreamDependency').mockReturnValue(OpenCursor);
});

afterEach(() => node.sql('TRUNCATE effect'));

afterAll(() => void jest.restoreAllMocks());

/** Has a handler of that name do it, until its attempts have ended like that. */
async function ends<Event extends 'completed' | 'dead'>(
  event: Event,
  name: keyof typeof HANDLERS,
  handle: Run,
): Promise<DelayEventMap[Event][0]> {
  run = handle;
  const ended = node.next(event);
  await node.delays.schedule(name, null, { after: 0, key: 'k' });
  return ended;
}

const effects = (): Promise<{ n: number }[]> => node.sql('SELECT n FROM effect ORDER BY n');

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => error,
  );

describe.each(Object.entries(WAYS))('through %s', (_way, write) => {
  it('nothing stands of attempts that failed while a branch of theirs was writing', async () => {
    const branches: Promise<unknown>[] = [];
    const dead = await ends('dead', 'test.tried', async (manager, attempt) => {
      const wrote = signal();
      const writes = async (): Promise<void> => {
        await write(manager, attempt);
        wrote.resolve();
        for (let n = 1; n <= 10; n += 1) await write(manager, attempt * 100 + n);
      };
      const branch = writes();
      branches.push(outcomeOf(branch));
      await Promise.all([branch, wrote.promise.then(() => Promise.reject(ONE_FAILED))]);
    });
    expect(dead).toMatchObject({ attempt: 2, error: String(ONE_FAILED) });
    // What only its reader could end has ended with its connection.
    const others = (await Promise.all(branches)).filter(
      (end) =>
        !(end instanceof DelayTransactionOverError) && !/Connection terminated/.test(String(end)),
    );
    expect(others).toEqual([]);
    expect(await effects()).toEqual([]);
  });

  it('a handler writes, and it is committed with its delay; nothing is written once it has returned, or was cut', async () => {
    const late = signal();
    const results: Promise<unknown>[] = [];
    const writesLate = async (manager: EntityManager): Promise<void> => {
      const writes = late.promise.then(() => write(manager, 2));
      results.push(outcomeOf(writes));
      await writes;
    };
    await ends('dead', 'test.cut', writesLate);
    await ends('completed', 'test.once', async (manager) => {
      await write(manager, 1);
      void writesLate(manager).catch(() => {});
    });
    late.resolve();
    const refused = expect.any(DelayTransactionOverError);
    expect(await Promise.all(results)).toEqual([refused, refused]);
    expect(await effects()).toEqual([{ n: 1 }]);
  });

  it('a handler that does not await what it writes has failed', async () => {
    const left: Promise<unknown>[] = [];
    const dead = await ends('dead', 'test.once', async (manager) => {
      left.push(outcomeOf(write(manager, 1)));
    });
    expect(dead).toMatchObject({ error: expect.stringMatching(/await it/) });
    await Promise.all(left);
    expect(await effects()).toEqual([]);
    // Its connection, or another in its place, works.
    expect(await node.dataSource.query('SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });
});

it('what waits behind another statement is refused, not sent', async () => {
  const waiting: Promise<unknown>[] = [];
  await ends('dead', 'test.once', async (manager) => {
    const slow = outcomeOf(manager.query('SELECT pg_sleep(0.2)'));
    waiting.push(...[1, 2, 3].map((n) => outcomeOf(manager.query(INSERT, [n]))));
    const fails = Promise.reject(new Error('no'));
    await Promise.all([slow, ...waiting, fails]);
  });
  expect(await Promise.all(waiting)).toEqual(
    [1, 2, 3].map(() => expect.any(DelayTransactionOverError)),
  );
  expect(await effects()).toEqual([]);
});

const clientOf = async (manager: EntityManager): Promise<PoolClient & { processID: number }> =>
  manager.queryRunner!.connect();

it('a client that a handler kept does not reach whoever has its connection next', async () => {
  const kept = signal<PoolClient & { processID: number }>();
  await ends('completed', 'test.once', async (manager) => kept.resolve(await clientOf(manager)));
  const client = await kept.promise;
  const next = await attemptPoolOf(node).connect();
  const { rows } = await next
    .query<{ pid: number }>('BEGIN; SELECT pg_backend_pid() AS pid')
    .then((answers) => (answers as unknown as [unknown, typeof answers])[1]);
  expect(rows).toEqual([{ pid: client.processID }]);
  for (const sql of ['COMMIT', 'INSERT INTO effect (n) VALUES (1)']) {
    expect(await outcomeOf(client.query(sql))).toBeInstanceOf(DelayTransactionOverError);
  }
  expect(() => client.release()).toThrow('the transaction belongs to the attempt');
  await next.query('ROLLBACK');
  next.release();
  expect(await effects()).toEqual([]);
});

it('a cursor that is left open fails the attempt, and its connection leaves the pool', async () => {
  const pids: number[] = [];
  const dead = await ends('dead', 'test.once', async (manager) => {
    const client = await clientOf(manager);
    pids.push(client.processID);
    await manager.query(INSERT, [1]);
    const cursor = client.query(new OpenCursor('SELECT generate_series(1, 10)') as never);
    (cursor as unknown as OpenCursor).on('error', () => {});
    await new Promise((resolve) => (cursor as unknown as OpenCursor).once('data', resolve));
  });
  expect(dead).toMatchObject({ error: expect.stringMatching(/await it/) });
  await node.until<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid = ${pids[0]}`,
    (rows) => rows.length === 0,
  );
  expect(await effects()).toEqual([]);
  expect(await node.dataSource.query('SELECT 1 AS n')).toEqual([{ n: 1 }]);
});

it('a transaction that never began does not begin for the next user of its connection', async () => {
  await ends('dead', 'test.once', () => Promise.reject(ONE_FAILED));
  const next = await attemptPoolOf(node).connect();
  await next.query(INSERT, [1]);
  // Committed by itself: another session sees it while this one is still held.
  expect(await effects()).toEqual([{ n: 1 }]);
  next.release();
});
