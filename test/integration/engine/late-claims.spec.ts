import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'pg';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import {
  batchHandler,
  type DelayNode,
  fencedHandler,
  plainHandler,
  signal,
} from '../../support/delay-node.js';
import { clientRunner } from '../../support/other-node.js';
import { Stage } from './support/stage.js';

/** A claim that was given up, and is committed later than that. */
let stage: Stage;
let held: Client;

beforeEach(async () => {
  stage = await Stage.open();
  held = new Client({ connectionString: stage.url });
  await held.connect();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await held.end();
  await stage.close();
});

/**
 * The next claim is done and not committed, and its node hears nothing of it.
 * @returns resolves when the node has seen that the row is not its own, and looks after it again
 */
function holdNextClaim(): Promise<void> {
  const lookedAfter = signal();
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const lookAt = AttemptStore.prototype.lookAt;
  jest.spyOn(AttemptStore.prototype, 'claim').mockImplementationOnce(async function (
    this: AttemptStore,
    requests,
  ) {
    await held.query('BEGIN');
    await new AttemptStore(clientRunner(held), 'delay_queue', 'ends', this.nodeName).claim(
      requests,
    );
    jest.spyOn(AttemptStore.prototype, 'lookAt').mockImplementationOnce(async function (
      this: AttemptStore,
      ids,
    ) {
      const rows = await lookAt.call(this, ids);
      lookedAfter.resolve();
      return rows;
    });
    throw new Error('Query read timeout');
  });
  return lookedAfter.promise;
}

const KINDS = {
  plain: (run: (attempt: number) => void) =>
    plainHandler('test.late', ({ attempt }) => run(attempt), { maxAttempts: 1 }),
  transactional: (run: (attempt: number) => void) =>
    fencedHandler('test.late', ({ attempt }) => run(attempt), { maxAttempts: 1 }),
  batch: (run: (attempt: number) => void) =>
    batchHandler('test.late', (delays) => delays.forEach(({ attempt }) => run(attempt)), {
      maxAttempts: 1,
      batch: 10,
    }),
};

async function start(
  kind: keyof typeof KINDS,
  lease: '1s' | '10m',
): Promise<{ node: DelayNode; attempts: number[]; ends: string[] }> {
  const attempts: number[] = [];
  const ends: string[] = [];
  const node = await stage.start({
    options: { lease, timeout: '1s' },
    providers: [KINDS[kind]((attempt) => attempts.push(attempt))],
  });
  for (const event of ['dead', 'lost', 'retrying', 'released'] as const) {
    node.events.on(event, () => ends.push(event));
  }
  return { node, attempts, ends };
}

describe.each(['plain', 'transactional', 'batch'] as const)('%s', (kind) => {
  it('runs once its claim is committed, however long its lease is', async () => {
    const { node, attempts, ends } = await start(kind, '10m');
    const lookedAfter = holdNextClaim();
    const completed = node.next('completed');
    await node.delays.schedule('test.late', null, { after: 0, key: 'k' });
    await lookedAfter;
    await held.query('COMMIT');
    expect(await completed).toMatchObject({ attempt: 1 });
    expect({ attempts, ends }).toEqual({ attempts: [1], ends: [] });
  });

  it('runs, and is not buried, when its lease is over by then', async () => {
    const { node, attempts, ends } = await start(kind, '1s');
    const lookedAfter = holdNextClaim();
    const completed = node.next('completed');
    await node.delays.schedule('test.late', null, { after: 0, key: 'k' });
    await lookedAfter;
    const [{ over }] = (
      await held.query<{ over: string }>('SELECT leased_until::text AS over FROM delay_queue.delay')
    ).rows as [{ over: string }];
    await stage.until<{ is: boolean }>(
      `SELECT clock_timestamp() > '${over}' AS is`,
      ([row]) => row!.is,
    );
    await held.query('COMMIT');
    expect(await completed).toMatchObject({ attempt: 1 });
    expect({ attempts, ends }).toEqual({ attempts: [1], ends: [] });
  });
});

it('a row that another node has claimed under that very epoch is left to it', async () => {
  const { node, attempts } = await start('plain', '10m');
  // None but the one that is held: the other node is to come first.
  jest.spyOn(AttemptStore.prototype, 'claim').mockResolvedValue([]);
  const lookedAfter = holdNextClaim();
  const { id } = await node.delays.schedule('test.late', null, { after: 0, key: 'k' });
  await lookedAfter;
  const triedToGiveBack = signal();
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const settle = AttemptStore.prototype.retry;
  jest.spyOn(AttemptStore.prototype, 'retry').mockImplementation(async function (
    this: AttemptStore,
    items,
  ) {
    const rows = await settle.call(this, items);
    triedToGiveBack.resolve();
    return rows;
  });
  await held.query('ROLLBACK');
  const others = await stage.sql(
    `UPDATE delay_queue.delay
     SET leased_by = 'other-node', leased_until = clock_timestamp() + interval '1 minute',
         epoch = epoch + 1, attempts = attempts + 1
     WHERE id = $1 RETURNING *`,
    [id],
  );
  await triedToGiveBack.promise;
  expect(await stage.sql('SELECT * FROM delay_queue.delay')).toEqual(others);
  expect(attempts).toEqual([]);
});

it('an attempt that runs under the epoch of a claim that was lost is not given back', async () => {
  const end = signal();
  const began = signal();
  const node = await stage.start({
    options: { lease: '1s' },
    providers: [
      plainHandler(
        'test.late',
        () => {
          began.resolve();
          return end.promise;
        },
        { maxAttempts: 1, timeout: '60s' },
      ),
    ],
  });
  const lookedAfter = holdNextClaim();
  const { id } = await node.delays.schedule('test.late', null, { after: 0, key: 'k' });
  await lookedAfter;
  await held.query('ROLLBACK');
  await began.promise;
  const rowOf = (): Promise<{ epoch: number; until: Date }[]> =>
    stage.sql('SELECT epoch, leased_until AS until FROM delay_queue.delay WHERE id = $1', [id]);
  const [before] = await rowOf();
  // Sweeps come every half lease, and see it: it is renewed, and nothing else.
  await stage.until<{ epoch: number; until: Date }>(
    'SELECT epoch, leased_until AS until FROM delay_queue.delay',
    ([row]) => row!.until.getTime() > before!.until.getTime() + 1_000,
  );
  expect((await rowOf())[0]?.epoch).toBe(before!.epoch);
  const completed = node.next('completed');
  end.resolve();
  expect(await completed).toMatchObject({ attempt: 1 });
});
