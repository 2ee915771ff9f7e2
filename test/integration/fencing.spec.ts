import { beforeAll, describe, expect, it } from '@jest/globals';
import { OneNode } from '../support/one-node.js';
import { OtherNode, runnerOn } from '../support/other-node.js';
import { type ClaimedRow, DelayStore, LimitStore, type Runner } from '../support/engine-parts.js';

const RETRY = {
  waitMs: 1_000,
  movesDue: false,
  refund: 0,
  ends: 'failed',
  error: 'Error: no',
} as const;

/** Beyond 32 bits, as of a delay that recurs each second for 70 years. */
const EPOCH = 70 * 366 * 86_400 * 2;

const KEY = 'k';

const node = new OneNode();
let worker: OtherNode;

beforeAll(async () => {
  worker = new OtherNode(node.dataSource);
  await node.sql(`ALTER TABLE delay_queue.delay ALTER epoch SET DEFAULT ${EPOCH}`);
  await node.sql('CREATE TABLE effect (epoch bigint)');
});

/** A claim that was overtaken: the second one of the same row has the next epoch. */
async function overtaken(key = KEY): Promise<{ old: ClaimedRow; fresh: ClaimedRow }> {
  const { id } = await node.delays.schedule('test.a', { n: 1 }, { after: 0, key });
  const old = await new OtherNode(node.dataSource, 'paused-node').claimAndDie(id);
  return { old, fresh: await worker.claim(id) };
}

const rowOf = async ({ id }: { id: number }): Promise<Record<string, unknown> | undefined> =>
  (await node.sql('SELECT * FROM delay_queue.delay WHERE id = $1', [id]))[0];

describe('an attempt whose row was claimed again', () => {
  it('changes nothing by any of its writes', async () => {
    const { old } = await overtaken();
    const before = await rowOf(old);
    const paused = new OtherNode(node.dataSource, 'paused-node').store;
    expect(await paused.complete([{ ...old, latenessMs: 0 }])).toEqual([]);
    expect(await paused.retry([{ ...old, ...RETRY }])).toEqual([]);
    expect(await paused.renew([old], 60_000)).toEqual([]);
    expect(await paused.deadLetter([{ ...old, maxAttempts: 1 }], 'no')).toEqual([]);
    expect(await paused.claim([{ ...old, leaseMs: 1_000, maxAttempts: 9 }])).toEqual([]);
    expect(await rowOf(old)).toEqual(before);
  });

  it('loses its effects at the removal, be it committed or not, and the fresh one keeps its own', async () => {
    const { old, fresh } = await overtaken();
    const [late, intime] = [await node.begin(), await node.begin()];
    const effect = `INSERT INTO effect VALUES ($1)`;
    await late.manager.query(effect, [old.epoch]);
    await intime.manager.query(effect, [fresh.epoch]);
    await expect(new OtherNode(late.manager).remove(old)).rejects.toThrow('lost');
    await new OtherNode(intime.manager).remove(fresh);
    await late.commit();
    await intime.commit();
    expect(await node.sql('SELECT epoch FROM effect')).toEqual([{ epoch: String(fresh.epoch) }]);
  });

  it.each(['old', 'fresh'] as const)(
    'does not end the fresh one, though both stand in one batch, the %s one first',
    async (first) => {
      const claims = await overtaken();
      const dead = { ...claims.old, ...RETRY, waitMs: null, error: 'Error: stale' };
      const endings = [dead, { ...claims.fresh, ...RETRY }];
      const batch = first === 'old' ? endings : endings.toReversed();
      expect(await worker.store.retry(batch)).toHaveLength(1);
      const row = await rowOf(claims.fresh);
      expect(row).toMatchObject({ last_error: 'Error: no', epoch: String(claims.fresh.epoch + 1) });
      expect(row?.['wake_at']).toBeInstanceOf(Date);
    },
  );

  it('gives the lateness of the fresh one to history, though both stand in one batch', async () => {
    const { old, fresh } = await overtaken();
    await worker.store.complete([
      { ...old, latenessMs: 111 },
      { ...fresh, latenessMs: 222 },
    ]);
    const [record] = await node.delays.history('test.a', KEY);
    expect(record).toMatchObject({ state: 'completed', latenessMs: 222, node: worker.name });
  });

  it('of another node cannot settle, even with the right epoch', async () => {
    const { fresh } = await overtaken();
    const stranger = new OtherNode(node.dataSource, 'stranger').store;
    expect(await stranger.retry([{ ...fresh, ...RETRY }])).toEqual([]);
    expect(await worker.store.retry([{ ...fresh, ...RETRY }])).toHaveLength(1);
  });
});

it('an attempt past its lease is not renewed under a limit: its place may be taken', async () => {
  const place = { concurrency: 1, burst: 0, refillPerMs: 0 };
  const rule = { name: 'test.a', all: place, perGroup: { ...place, concurrency: 0 } };
  const inTransaction = <Result>(work: (runner: Runner) => Promise<Result>): Promise<Result> =>
    node.dataSource.transaction((manager) => work(runnerOn(manager)));
  const limited = new LimitStore({ inTransaction }, 'delay_queue', 'ends', worker.name);
  const claim = async (leaseMs: number): Promise<ClaimedRow> => {
    const { id } = await node.delays.schedule('test.a', { n: 1 }, { after: 0 });
    const request = { id: Number(id), epoch: EPOCH, leaseMs, maxAttempts: 10 };
    const [row] = (await limited.claim([request], [rule])).rows;
    if (row === undefined) throw new Error('there was no place');
    return row;
  };
  const late = await claim(0);
  // Its place is kept a little longer.
  await node.sql(`UPDATE delay_queue.delay SET leased_until = leased_until - interval '2 seconds'`);
  const holder = await claim(60_000);
  expect(await worker.store.renew([late, holder], 60_000)).toEqual([holder.id]);
  await node.sql('DELETE FROM delay_queue.quota');
});

it('an attempt past its lease does not cancel itself; anybody else may', async () => {
  const { id } = await node.delays.schedule('test.a', { n: 1 }, { after: 0, key: KEY });
  const { epoch } = await worker.claimAndDie(id);
  const store = new DelayStore('delay_queue', 'ends', worker.name);
  const runner = runnerOn(node.dataSource);
  const own = { id: Number(id), epoch, latenessMs: 0 };
  const [running, cancelled] = [{ verdict: 'running' }, { verdict: 'cancelled' }];
  expect(await store.cancel(runner, { name: 'test.a', key: KEY }, own)).toMatchObject(running);
  expect(await store.cancel(runner, { name: 'test.a', key: KEY })).toMatchObject(cancelled);
});

it('a batch leaves out the row that somebody holds, and waits for nobody', async () => {
  const [first, held, last] = [
    (await overtaken('a')).fresh,
    (await overtaken('b')).fresh,
    (await overtaken('c')).fresh,
  ] as const;
  const { manager, rollback } = await node.begin();
  await new OtherNode(manager).remove(held);
  const renewed = await worker.store.renew([first, held, last], 60_000);
  expect(new Set(renewed)).toEqual(new Set([first.id, last.id]));
  const settled = await worker.store.retry([first, held].map((claim) => ({ ...claim, ...RETRY })));
  expect(settled.map(({ id }) => id)).toEqual([first.id]);
  const completions = [held, last].map((claim) => ({ ...claim, latenessMs: 1 }));
  expect(await worker.store.complete(completions)).toEqual([last.id]);
  await rollback();
  expect(await worker.store.complete(completions)).toEqual([held.id]);
});

it('a claim is never early: a row before its wake is not taken', async () => {
  const { id } = await node.delays.schedule('test.a', { n: 1 }, { after: '1h' });
  const request = { id: Number(id), epoch: EPOCH, leaseMs: 1_000, maxAttempts: 9 };
  expect(await worker.store.claim([request])).toEqual([]);
  await node.sql(`UPDATE delay_queue.delay SET wake_at = clock_timestamp()`);
  const claimed = { id: Number(id), epoch: EPOCH + 1 };
  expect(await worker.store.claim([request])).toMatchObject([claimed]);
});

it('a look tells of each row where it stands: when it waits, who holds it, whether it has died', async () => {
  const later = { after: '1h', group: 'g', maxAttempts: 7 } as const;
  const waits = await node.delays.schedule('test.a', { n: 1 }, later);
  const due = { after: 0 } as const;
  const [held, tried, dead] = [
    await node.delays.schedule('test.a', { n: 1 }, due),
    await node.delays.schedule('test.a', { n: 1 }, due),
    await node.delays.schedule('test.a', { n: 1 }, due),
  ] as const;
  const { now_ms: claimedMs } = await worker.claim(held.id);
  await worker.claimAndFail(tried.id, 60_000);
  await worker.claimAndFail(dead.id, null);
  const ids = [waits, held, tried, dead].map(({ id }) => Number(id));
  const rows = await worker.store.lookAt([...ids, 987_654_321]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  expect(byId.size).toBe(4);
  const [one, two, three, four] = ids.map((id) => byId.get(id));
  const fresh = { failed: false, is_odd: false, repeat: null, node: null };
  expect(one).toMatchObject({ ...fresh, group: 'g', attempts: 0, max_attempts: 7, epoch: EPOCH });
  expect([one?.wake_ms, one?.due_ms]).toEqual([waits.dueAt.getTime(), waits.dueAt.getTime()]);
  expect(two).toMatchObject({ failed: false, group: null, attempts: 1, max_attempts: null });
  expect([two?.node, two?.epoch]).toEqual([worker.name, EPOCH + 1]);
  expect(Number(two?.wake_ms) - claimedMs).toBeGreaterThanOrEqual(60_000);
  expect(three).toMatchObject({ failed: true, is_odd: false, node: null, attempts: 1 });
  expect(Number(three?.wake_ms)).toBeGreaterThan(Number(three?.now_ms));
  expect(four).toMatchObject({ failed: true, is_odd: false, wake_ms: null, epoch: EPOCH + 2 });
});
