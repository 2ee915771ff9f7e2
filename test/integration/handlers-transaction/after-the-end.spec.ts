import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayTransactionOverError, type TransactionalDelayContext } from 'nestjs-delay-queue';
import type { PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import { type DelayNode, fencedHandler, signal } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { Effect, EFFECT_TABLE, INSERT, OpenCursor, WAYS } from './ways.js';

/** A handler's manager ends with its attempt, whatever it is used through. */
let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
  await stage.sql(EFFECT_TABLE);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

type Run = (
  manager: EntityManager,
  ctx: TransactionalDelayContext,
  attempt: number,
) => Promise<unknown>;

async function start(
  run: Run,
  { timeout = 60_000, maxAttempts = 3, poolMax = 5 } = {},
): Promise<DelayNode> {
  const node = await stage.start({
    entities: [Effect],
    poolMax,
    providers: [
      fencedHandler(
        'test.fenced',
        async ({ attempt }, ctx) => void (await run(ctx.manager, ctx, attempt)),
        { timeout, maxAttempts },
      ),
    ],
  });
  // `pg-query-stream` is the application's to install.
  const driver = node.dataSource.driver as unknown as { loadStreamDependency: () => unknown };
  jest.spyOn(driver, 'loadStreamDependency').mockReturnValue(OpenCursor);
  return node;
}

const schedule = (node: DelayNode): Promise<unknown> =>
  node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });

const effects = (): Promise<{ n: number }[]> => stage.sql('SELECT n FROM effect ORDER BY n');

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => error,
  );

describe.each(Object.entries(WAYS))('through %s', (_way, write) => {
  it('a handler writes, and it is committed with its delay', async () => {
    const node = await start((manager) => write(manager, 1));
    const completed = node.next('completed');
    await schedule(node);
    await completed;
    expect(await effects()).toEqual([{ n: 1 }]);
  });

  it('nothing stands of attempts that failed while a branch of theirs was writing', async () => {
    const branches: Promise<unknown>[] = [];
    const node = await start(async (manager, _ctx, attempt) => {
      const wrote = signal();
      const writes = async (): Promise<void> => {
        await write(manager, attempt);
        wrote.resolve();
        for (let n = 1; n <= 20; n += 1) await write(manager, attempt * 100 + n);
      };
      const fails = async (): Promise<void> => {
        await wrote.promise;
        throw new Error('one branch failed');
      };
      const branch = writes();
      branches.push(outcomeOf(branch));
      await Promise.all([branch, fails()]);
    });
    const dead = node.next('dead');
    await schedule(node);
    expect(await dead).toMatchObject({ attempt: 3, error: 'Error: one branch failed' });
    // What only its reader could end has ended with its connection.
    const others = (await Promise.all(branches)).filter(
      (end) =>
        !(end instanceof DelayTransactionOverError) && !/Connection terminated/.test(String(end)),
    );
    expect(others).toEqual([]);
    expect(await effects()).toEqual([]);
  });

  it('nothing is written after the handler was cut', async () => {
    const late = signal();
    const result = signal<unknown>();
    const node = await start(
      async (manager) => {
        await late.promise;
        result.resolve(await outcomeOf(write(manager, 1)));
      },
      { timeout: 100, maxAttempts: 1 },
    );
    const dead = node.next('dead');
    await schedule(node);
    await dead;
    late.resolve();
    expect(await result.promise).toBeInstanceOf(DelayTransactionOverError);
    expect(await effects()).toEqual([]);
  });

  it('nothing is written after the handler has returned', async () => {
    const late = signal();
    const result = signal<unknown>();
    const node = await start(async (manager) => {
      void late.promise.then(async () => result.resolve(await outcomeOf(write(manager, 1))));
    });
    const completed = node.next('completed');
    await schedule(node);
    await completed;
    late.resolve();
    expect(await result.promise).toBeInstanceOf(DelayTransactionOverError);
    expect(await effects()).toEqual([]);
  });

  it('a handler that does not await what it writes has failed', async () => {
    const left: Promise<unknown>[] = [];
    const node = await start(
      async (manager) => {
        left.push(outcomeOf(write(manager, 1)));
      },
      { maxAttempts: 1 },
    );
    const dead = node.next('dead');
    await schedule(node);
    expect(await dead).toMatchObject({ error: expect.stringMatching(/await it/) });
    await Promise.all(left);
    expect(await effects()).toEqual([]);
    // Its connection, or another in its place, works.
    expect(await node.dataSource.query('SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });
});

it('branches that all succeed are committed', async () => {
  const node = await start((manager) =>
    Promise.all([1, 2, 3, 4, 5, 6].map((n) => manager.query(INSERT, [n]))),
  );
  const completed = node.next('completed');
  await schedule(node);
  await completed;
  expect((await effects()).map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6]);
});

it('what waits behind another statement is refused, not sent', async () => {
  const waiting: Promise<unknown>[] = [];
  const node = await start(
    async (manager) => {
      const slow = outcomeOf(manager.query('SELECT pg_sleep(0.2)'));
      waiting.push(...[1, 2, 3].map((n) => outcomeOf(manager.query(INSERT, [n]))));
      const fails = Promise.reject(new Error('no'));
      await Promise.all([slow, ...waiting, fails]);
    },
    { maxAttempts: 1 },
  );
  const dead = node.next('dead');
  await schedule(node);
  await dead;
  expect(await Promise.all(waiting)).toEqual(
    [1, 2, 3].map(() => expect.any(DelayTransactionOverError)),
  );
  expect(await effects()).toEqual([]);
});

it('a client that a handler kept does not reach whoever has its connection next', async () => {
  const kept = signal<PoolClient>();
  const node = await start(
    async (manager) => kept.resolve((await manager.queryRunner!.connect()) as PoolClient),
    { poolMax: 2 },
  );
  const completed = node.next('completed');
  await schedule(node);
  await completed;
  const client = await kept.promise;
  const { processID } = client as unknown as { processID: number };
  // All connections that the pool has.
  const runners = [node.dataSource.createQueryRunner(), node.dataSource.createQueryRunner()];
  const pids: number[] = [];
  for (const runner of runners) {
    await runner.startTransaction();
    const [row] = await runner.query('SELECT pg_backend_pid() AS pid');
    pids.push(row.pid);
    await runner.query(INSERT, [row.pid]);
  }
  expect(pids).toContain(processID);
  for (const sql of ['COMMIT', 'INSERT INTO effect (n) VALUES (1)']) {
    expect(await outcomeOf(client.query(sql))).toBeInstanceOf(DelayTransactionOverError);
  }
  expect(() => client.release()).toThrow('the transaction belongs to the attempt');
  for (const runner of runners) {
    await runner.rollbackTransaction();
    await runner.release();
  }
  expect(await effects()).toEqual([]);
});

it('a cursor that is left open fails the attempt, and its connection leaves the pool', async () => {
  const pids: number[] = [];
  const node = await start(
    async (manager) => {
      const client = (await manager.queryRunner!.connect()) as PoolClient;
      pids.push((client as unknown as { processID: number }).processID);
      await manager.query(INSERT, [1]);
      const cursor = client.query(new OpenCursor('SELECT generate_series(1, 10)') as never);
      (cursor as unknown as OpenCursor).on('error', () => {});
      await new Promise((resolve) => (cursor as unknown as OpenCursor).once('data', resolve));
    },
    { maxAttempts: 1 },
  );
  const dead = node.next('dead');
  await schedule(node);
  expect(await dead).toMatchObject({ error: expect.stringMatching(/await it/) });
  await stage.until<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE pid = ${pids[0]}`,
    (rows) => rows.length === 0,
  );
  expect(await effects()).toEqual([]);
  expect(await node.dataSource.query('SELECT 1 AS n')).toEqual([{ n: 1 }]);
});
