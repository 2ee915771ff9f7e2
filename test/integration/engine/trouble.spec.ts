import { describe, expect, it, jest } from '@jest/globals';
import { type DelayNode, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { EFFECT_TABLE, stageOfEach } from './support/stage-of-each.js';
import { AttemptStore } from '../../support/engine-parts.js';

const stage = stageOfEach({ tables: EFFECT_TABLE });

const connectionLost = (): Error => new Error('Connection terminated unexpectedly');

const effects = () =>
  stage.sql('SELECT count(*)::int AS lines, count(DISTINCT key)::int AS keys FROM effect');

const fenced = (maxAttempts: number) =>
  fencedHandler(
    'test.fenced',
    async ({ key }, { manager }) => {
      await manager.query('INSERT INTO effect VALUES ($1)', [key]);
    },
    { maxAttempts },
  );

describe('sessions that are ended again and again', () => {
  const COUNT = 100;
  const ROUNDS = 6;
  /** A slow machine may do more than one round's work between two looks. */
  const ROUNDS_AT_LEAST = 3;

  it.each([
    ['of the engine', `application_name LIKE 'delay-queue %'`],
    ['of the engine and of the application', `application_name <> 'stage'`],
  ])('%s: nothing is lost, no transactional effect is doubled', async (_, whose) => {
    const ran = new Set<string>();
    const node = await stage.start({
      options: { lease: '2s', timeout: '2s', maxAttempts: 100 },
      providers: [plainHandler('test.plain', ({ id }) => void ran.add(id)), fenced(100)],
    });
    for (const name of ['test.plain', 'test.fenced'] as const) {
      await node.delays.scheduleMany(
        Array.from({ length: COUNT }, (_item, n) => {
          return { name, payload: null, key: `${name}${n}`, after: n * 10 };
        }),
      );
    }
    let rounds = 0;
    let seen = Infinity;
    await stage.until<{ left: number }>(
      'SELECT count(*)::int AS left FROM delay_queue.delay',
      ([row]) => {
        const { left } = row!;
        // Each time that work has gone on, and then no more, so that it can end.
        if (rounds < ROUNDS && left > 0 && left < seen) {
          rounds += 1;
          seen = left;
          void stage.sql(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${whose}`,
          );
        }
        return left === 0;
      },
    );
    expect(rounds).toBeGreaterThanOrEqual(ROUNDS_AT_LEAST);
    expect(ran.size).toBe(COUNT);
    expect(await effects()).toEqual([{ lines: COUNT, keys: COUNT }]);
    const ended = await stage.sql(
      'SELECT state, count(*)::int AS count FROM delay_queue.history GROUP BY state',
    );
    expect(ended).toEqual([{ state: 'completed', count: COUNT * 2 }]);
  });
});

it('a claim that was not committed, of which nobody knows it: nothing is given back, however late it learns of it', async () => {
  const end = signal();
  const began = signal();
  const settled = signal();
  let runs = 0;
  const node = await stage.start({
    providers: [
      plainHandler('test.once', () => {
        runs += 1;
        began.resolve();
        return end.promise;
      }),
    ],
  });
  stage.parts.intercept(
    AttemptStore,
    'claim',
    async () => {
      throw connectionLost();
    },
    1,
  );
  let refusals = 3;
  stage.parts.intercept(AttemptStore, 'retry', async ({ real }) => {
    refusals -= 1;
    if (refusals >= 0) throw connectionLost();
    const rows = await real();
    settled.resolve();
    return rows;
  });
  await node.delays.schedule('test.once', null, { after: 0, key: 'k' });
  await settled.promise;
  await began.promise;
  const completed = node.next('completed');
  end.resolve();
  expect(await completed).toMatchObject({ attempt: 1 });
  expect(runs).toBe(1);
  expect(await stage.sql('SELECT epoch::int, attempts FROM delay_queue.history')).toEqual([
    { epoch: 1, attempts: 1 },
  ]);
});

type Commit = () => Promise<void>;

/** @returns whether a transaction was open when the connection went back to the pool */
function atFirstCommit(
  { dataSource }: DelayNode,
  commit: (real: Commit) => Promise<void>,
): { activeAtRelease?: boolean } {
  const seen: { activeAtRelease?: boolean } = {};
  const create = dataSource.createQueryRunner.bind(dataSource);
  jest.spyOn(dataSource, 'createQueryRunner').mockImplementationOnce((mode) => {
    const runner = create(mode);
    const real = runner.commitTransaction.bind(runner);
    const release = runner.release.bind(runner);
    runner.commitTransaction = () => commit(real);
    runner.release = () => {
      seen.activeAtRelease = runner.isTransactionActive;
      return release();
    };
    return runner;
  });
  return seen;
}

const happened = async (real: Commit): Promise<void> => {
  await real();
  throw connectionLost();
};
/** So does a subscriber of the application that throws before the commit. */
const didNot = () => Promise.reject(connectionLost());

describe('a COMMIT of which nobody knows whether it happened', () => {
  it.each([
    ['counts as done when the row is gone', happened, 1, []],
    ['is tried again when the row is still there', didNot, 2, ['retrying']],
  ])('%s, and leaves no transaction open', async (_, commit, attempt, otherEnds) => {
    const node = await stage.start({ providers: [fenced(5)] });
    const ends: string[] = [];
    for (const event of ['dead', 'lost', 'retrying'] as const) {
      node.events.on(event, () => ends.push(event));
    }
    const completed = node.next('completed');
    await node.delays.schedule('test.fenced', null, { after: 100, key: 'k' });
    const runner = atFirstCommit(node, commit);
    expect(await completed).toMatchObject({ attempt });
    expect(ends).toEqual(otherEnds);
    expect(await effects()).toEqual([{ lines: 1, keys: 1 }]);
    // The pool would have handed it on with the transaction still open.
    expect(runner.activeAtRelease).toBe(false);
  });
});
