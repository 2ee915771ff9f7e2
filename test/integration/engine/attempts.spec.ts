import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';
import { until } from '../../support/until.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

/** A row as a process leaves it that was killed in its `attempts`-th attempt. */
const crashed = (name: string, attempts: number, maxAttempts: number | null) =>
  stage.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, attempts,
                                    epoch, max_attempts, leased_by, leased_until)
     SELECT $1, 'k', 'null', at, at, at, $2::int, $2::int, $3, 'killed', at + interval '1 second'
     FROM (SELECT date_trunc('seconds', clock_timestamp()) - interval '1 minute' AS at) AS due`,
    [name, attempts, maxAttempts],
  );

it.each([
  ["the handler's", null],
  ["schedule's", 3],
])(
  'a claim that meets a row without attempts left (%s) buries it unrun',
  async (_, maxAttempts) => {
    await crashed('test.plain', 3, maxAttempts);
    await crashed('test.fenced', 3, maxAttempts);
    const ran: string[] = [];
    const options = { maxAttempts: maxAttempts === null ? 3 : 10 };
    const node = await stage.start({
      providers: [
        plainHandler('test.plain', ({ key }) => void ran.push(key ?? ''), options),
        fencedHandler('test.fenced', ({ key }) => void ran.push(key ?? ''), options),
      ],
    });
    await stage.until<{ wake: string }>(
      'SELECT wake_at::text AS wake FROM delay_queue.delay',
      (rows) => rows.every(({ wake }) => wake === 'infinity'),
    );
    for (const name of ['test.plain', 'test.fenced'] as const) {
      const found = await node.delays.find(name, 'k');
      expect(found).toMatchObject({ state: 'dead', attempts: 3, wakeAt: null });
      expect(found?.lastError).toContain('no attempt is left');
    }
    expect(ran).toEqual([]);
  },
);

it('a row whose process died with attempts left runs again, and that counts', async () => {
  await crashed('test.plain', 2, null);
  const attempts: number[] = [];
  const node = await stage.start({
    providers: [
      plainHandler('test.plain', ({ attempt }) => void attempts.push(attempt), { maxAttempts: 3 }),
    ],
  });
  await stage.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
  expect(attempts).toEqual([3]);
  expect(await node.delays.history('test.plain', 'k')).toMatchObject([
    { state: 'completed', attempts: 3 },
  ]);
});

describe('a claim looks at the row again, whatever the wheel believes', () => {
  it('and takes nothing before its time', async () => {
    const claim = jest.spyOn(AttemptStore.prototype, 'claim');
    let runs = 0;
    const node = await stage.start({ providers: [plainHandler('test.plain', () => void runs++)] });
    await node.delays.schedule('test.plain', null, { after: '2s', key: 'k' });
    // Behind the back of every node: nothing tells the wheel.
    await stage.sql(`UPDATE delay_queue.delay SET wake_at = wake_at + interval '1 hour'`);
    await until(
      () => claim.mock.results.length,
      (claims) => claims > 0,
    );
    expect(await claim.mock.results[0]!.value).toEqual([]);
    expect(runs).toBe(0);
  });

  it('and takes nothing that moved on, but finds it where it is now', async () => {
    const claim = jest.spyOn(AttemptStore.prototype, 'claim');
    const node = await stage.start({ providers: [plainHandler('test.plain', () => {})] });
    const warm = node.next('completed');
    await node.delays.schedule('test.plain', null, { after: 0, key: 'warm' });
    await warm;
    const completed = node.next('completed');
    const { id } = await node.delays.schedule('test.plain', null, { after: '2s', key: 'k' });
    await stage.sql('UPDATE delay_queue.delay SET epoch = 7');
    await completed;
    // A load that comes in between teaches the wheel the new epoch; with the old one nothing is got.
    const stale = claim.mock.calls.flatMap(([requests], call) =>
      requests.some((request) => request.id === Number(id) && request.epoch === 0)
        ? [claim.mock.results[call]!.value]
        : [],
    );
    expect((await Promise.all(stale)).flat()).toEqual([]);
    expect(await stage.sql(`SELECT epoch::int FROM delay_queue.history WHERE key = 'k'`)).toEqual([
      { epoch: 8 },
    ]);
  });
});

it('a page that was read before a claim, and is heard of after it, leads to no second one', async () => {
  const [read, begun, release, offered, gate] = [signal(), signal(), signal(), signal(), signal()];
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { claim } = AttemptStore.prototype;
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { sweep } = NodeStore.prototype;
  const claimed = jest
    .spyOn(AttemptStore.prototype, 'claim')
    .mockImplementation(async function afterTheRead(this: AttemptStore, requests) {
      await read.promise;
      return claim.call(this, requests);
    });
  const swept = jest
    .spyOn(NodeStore.prototype, 'sweep')
    .mockImplementationOnce(async function heardLate(this: NodeStore, ...parameters) {
      const page = await sweep.apply(this, parameters);
      read.resolve();
      await release.promise;
      setImmediate(offered.resolve);
      return page;
    });
  try {
    // Due, and late enough for the load to bring it too.
    await stage.sql(
      `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
       SELECT 'test.read', 'null', at, at, at FROM clock_timestamp() AS at`,
    );
    const node = await stage.start({
      providers: [
        plainHandler('test.read', () => {
          begun.resolve();
          return gate.promise;
        }),
        plainHandler('test.next', () => {}),
      ],
    });
    await begun.promise;
    release.resolve();
    await offered.promise;
    const completed = node.next('completed');
    await node.delays.schedule('test.next', null, { after: 0 });
    await completed;
    expect(await swept.mock.results[0]?.value).toMatchObject({ wakes: [{ id: 1, epoch: 0 }] });
    expect(claimed.mock.calls.map(([requests]) => requests.map(({ id }) => id))).toEqual([
      [1],
      [2],
    ]);
  } finally {
    release.resolve();
    gate.resolve();
  }
});
