import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { type DelayNode, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
  await stage.sql('CREATE TABLE effect (key text NOT NULL)');
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

const connectionLost = (): Error => new Error('Connection terminated unexpectedly');
const effects = () =>
  stage.sql<{ lines: number; keys: number }>(
    'SELECT count(*)::int AS lines, count(DISTINCT key)::int AS keys FROM effect',
  );

describe('sessions that are ended again and again', () => {
  it.each([
    ['of the engine', `application_name LIKE 'delay-queue %'`],
    ['of the engine and of the application', `application_name <> 'stage'`],
  ])('%s: nothing is lost, no transactional effect is doubled', async (_, whose) => {
    const count = 300;
    const ran = new Set<string>();
    const node = await stage.start({
      options: { maxAttempts: 100, lease: '2s', timeout: '2s' },
      providers: [
        plainHandler('test.plain', ({ id }) => void ran.add(id)),
        fencedHandler('test.fenced', async ({ key }, { manager }) => {
          await manager.query('INSERT INTO effect VALUES ($1)', [key]);
        }),
      ],
    });
    for (const name of ['test.plain', 'test.fenced'] as const) {
      await node.delays.scheduleMany(
        Array.from({ length: count }, (_item, n) => ({
          name,
          payload: null,
          key: `${name}${n}`,
          after: n * 5,
        })),
      );
    }
    let rounds = 0;
    await stage.until<{ left: number }>(
      'SELECT count(*)::int AS left FROM delay_queue.delay',
      ([row]) => {
        // While work goes on, and then no more, so that it can end.
        if (rounds < 15 && row!.left < count * 2 - rounds * 30) {
          rounds += 1;
          void stage.sql(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${whose}`,
          );
        }
        return row?.left === 0;
      },
    );
    expect(rounds).toBe(15);
    expect(ran.size).toBe(count);
    expect(await effects()).toEqual([{ lines: count, keys: count }]);
    const ended = await stage.sql(
      'SELECT state, count(*)::int AS count FROM delay_queue.history GROUP BY state',
    );
    expect(ended).toEqual([{ state: 'completed', count: count * 2 }]);
  });
});

describe('what fails and then works again', () => {
  it.each(['claim', 'acknowledge'])('%s: trouble is told, and then its end', async (duty) => {
    const node = await stage.start({ providers: [plainHandler('test.once', () => {})] });
    const during = { during: duty };
    const [trouble, recovered] = [
      node.next('trouble', (told) => told.during === duty),
      node.next('recovered', (told) => told.during === duty),
    ];
    const completed = node.next('completed');
    const method = duty === 'claim' ? 'claim' : 'complete';
    jest.spyOn(AttemptStore.prototype, method).mockRejectedValueOnce(connectionLost());
    await node.delays.schedule('test.once', null, { after: 0 });
    expect(await trouble).toMatchObject(during);
    expect(await recovered).toEqual(during);
    await completed;
  });
});

describe('a claim of which nobody knows whether it was committed', () => {
  it('gives the attempt back when it was', async () => {
    const attempts: number[] = [];
    const node = await stage.start({
      providers: [plainHandler('test.once', ({ attempt }) => void attempts.push(attempt))],
    });
    // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
    const claim = AttemptStore.prototype.claim;
    jest.spyOn(AttemptStore.prototype, 'claim').mockImplementationOnce(async function (
      this: AttemptStore,
      requests,
    ) {
      await claim.call(this, requests);
      throw connectionLost();
    });
    const completed = node.next('completed');
    await node.delays.schedule('test.once', null, { after: 0, key: 'k' });
    expect(await completed).toMatchObject({ key: 'k', attempt: 1 });
    expect(attempts).toEqual([1]);
  });

  it('gives nothing back when it was not, however late it learns of it', async () => {
    const end = signal();
    const began = signal();
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
    jest.spyOn(AttemptStore.prototype, 'claim').mockRejectedValueOnce(connectionLost());
    // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
    const settle = AttemptStore.prototype.retry;
    const settled = signal();
    let refusals = 3;
    jest.spyOn(AttemptStore.prototype, 'retry').mockImplementation(async function (
      this: AttemptStore,
      items,
    ) {
      refusals -= 1;
      if (refusals >= 0) throw connectionLost();
      const rows = await settle.call(this, items);
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
});

/** The next commit of a transaction that the engine opens ends as `commit` says. */
function atCommit(
  node: DelayNode,
  commit: (real: () => Promise<void>) => Promise<void>,
): { activeAtRelease?: boolean } {
  const seen: { activeAtRelease?: boolean } = {};
  const create = node.dataSource.createQueryRunner.bind(node.dataSource);
  jest.spyOn(node.dataSource, 'createQueryRunner').mockImplementationOnce((mode) => {
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

const fenced = (maxAttempts: number) =>
  fencedHandler(
    'test.fenced',
    async ({ key }, { manager }) => {
      await manager.query('INSERT INTO effect VALUES ($1)', [key]);
    },
    { maxAttempts },
  );

describe('a COMMIT of which nobody knows whether it happened', () => {
  it.each([1, 5])('counts as done when the row is gone (maxAttempts %d)', async (maxAttempts) => {
    const node = await stage.start({ providers: [fenced(maxAttempts)] });
    const ends: string[] = [];
    for (const event of ['dead', 'lost', 'retrying'] as const) {
      node.events.on(event, () => ends.push(event));
    }
    const { delays } = node;
    const completed = node.next('completed');
    await delays.schedule('test.fenced', null, { after: 100, key: 'k' });
    atCommit(node, async (real) => {
      await real();
      throw connectionLost();
    });
    await completed;
    expect(ends).toEqual([]);
    expect(await effects()).toEqual([{ lines: 1, keys: 1 }]);
  });

  it('is tried again when the row is still there, and leaves no transaction open', async () => {
    const node = await stage.start({ providers: [fenced(5)] });
    const completed = node.next('completed');
    await node.delays.schedule('test.fenced', null, { after: 100, key: 'k' });
    // So does a subscriber of the application that throws before the commit.
    const runner = atCommit(node, () => Promise.reject(connectionLost()));
    expect(await completed).toMatchObject({ attempt: 2 });
    expect(await effects()).toEqual([{ lines: 1, keys: 1 }]);
    // The pool would have handed it on with the transaction still open.
    expect(runner.activeAtRelease).toBe(false);
  });
});
