import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { fencedHandler, signal } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { OtherNode } from '../support/other-node.js';

/** Handlers close orders, and payers who lock the order first or the delay pay the same ones, at once. */
const WAVES = 24;
const OF_WAVE = 12;
const IDS = Array.from({ length: WAVES * OF_WAVE }, (_, index) => index + 1);

const BY_ENGINE = 'test.close';
const BY_HAND = 'test.a';
type Name = typeof BY_ENGINE | typeof BY_HAND;

/** As payers and handlers do it. @returns whether it was open */
async function settle(
  manager: EntityManager,
  id: number,
  how: 'paid' | 'closed',
): Promise<boolean> {
  const [, count] = await manager.query<[unknown, number]>(
    `UPDATE purchase SET status = $2 WHERE id = $1 AND status = 'open'`,
    [id, how],
  );
  return count === 1;
}

/** How long the order that it has closed stays locked. */
const workMs = (id: number): number => (id * 7) % 30;
/** Its timeout cuts its first attempt: with the session, the lock of the order goes. */
const hangs = (id: number): boolean => id % 60 === 0;

const [closed, goesOn] = [signal(), signal()];
const failures = new Set<string>();

const node = new OneNode({
  options: { lease: '1s', timeout: '300ms', maxAttempts: 50 },
  providers: [
    fencedHandler(BY_ENGINE, async ({ key, attempt }, ctx) => {
      const id = Number(key);
      await settle(ctx.manager, id, 'closed');
      const ms = hangs(id) && attempt === 1 ? 60_000 : workMs(id);
      await pause(ms, undefined, { signal: ctx.signal });
    }),
    fencedHandler('test.x', async ({ key }, { manager }) => {
      await settle(manager, Number(key), 'closed');
      closed.resolve();
      await goesOn.promise;
    }),
  ],
});

beforeAll(async () => {
  await node.sql('CREATE TABLE purchase (id int PRIMARY KEY, status text)');
  node.events.on('retrying', ({ error }) => failures.add(error.replace(/;.*/s, '')));
});

beforeEach(async () => {
  await node.sql('TRUNCATE purchase');
  await node.sql(`INSERT INTO purchase SELECT unnest($1::int[]), 'open'`, [IDS]);
});

const cancel = async (name: Name, id: number, manager: EntityManager): Promise<string> =>
  (await node.delays.cancel(name, String(id), { manager })).verdict;

type Pay = (name: Name, id: number) => Promise<{ verdict: string; isPaid: boolean }>;
const cancelThenPay: Pay = (name, id) =>
  node.dataSource.transaction(async (manager) => ({
    verdict: await cancel(name, id, manager),
    isPaid: await settle(manager, id, 'paid'),
  }));
const payThenCancel: Pay = (name, id) =>
  node.dataSource.transaction(async (manager) => {
    const isPaid = await settle(manager, id, 'paid');
    return { isPaid, verdict: await cancel(name, id, manager) };
  });

/** One order in three has no payer. */
const PAYS: Record<Name, readonly (Pay | undefined)[]> = {
  [BY_ENGINE]: [undefined, cancelThenPay, payThenCancel],
  [BY_HAND]: [undefined, cancelThenPay, payThenCancel],
};

/** @returns what a payer was told that is not so */
async function payer(name: Name, id: number): Promise<string | undefined> {
  await pause((id * 11) % 35);
  const pay = PAYS[name][id % 3];
  const told = await pay?.(name, id);
  return told?.verdict === 'cancelled' && !told.isPaid ? `${id} is cancelled, not paid` : undefined;
}

const ENDS = ['closed, completed', 'paid, cancelled', 'paid, completed'];
/** The third, a handler that finds its order paid, needs luck here: a test below makes sure of it. */
const COMMON_ENDS = ENDS.slice(0, 2);

/** @param work of the handlers, where no engine does it. @returns how orders and their delays ended */
async function inWaves(
  name: Name,
  work: (id: number, delay: string) => Promise<void> = async () => {},
): Promise<string[]> {
  for (let wave = 0; wave < WAVES; wave += 1) {
    const ids = IDS.slice(wave * OF_WAVE, (wave + 1) * OF_WAVE);
    const items = ids.map((id) => ({ name, payload: null, after: 5, key: String(id) }));
    const delays = await node.delays.scheduleMany(items);
    const [wrong] = await Promise.all([
      Promise.all(ids.map((id) => payer(name, id))),
      Promise.all(ids.map((id, index) => work(id, delays[index]!.id))),
    ]);
    expect(wrong.filter((each) => each !== undefined)).toEqual([]);
  }
  await node.until('SELECT FROM delay_queue.delay', ({ length }) => length === 0);
  const ends = await node.sql<{ status: string; state: string }>(
    `SELECT DISTINCT p.status, h.state
     FROM purchase p LEFT JOIN delay_queue.history h ON h.key = p.id::text`,
  );
  return ends.map(({ status, state }) => `${status}, ${state}`).toSorted();
}

it('handlers that the engine calls, and cuts: no deadlock, and no order both paid and closed', async () => {
  const ends = await inWaves(BY_ENGINE);
  expect(ends).toEqual(expect.arrayContaining(COMMON_ENDS));
  expect(ENDS).toEqual(expect.arrayContaining(ends));
  expect([...failures]).toEqual(['DelayTimeoutError: the handler did not end within 300 ms']);
});

it('attempts that go on past their lease: the same', async () => {
  const { store } = new OtherNode(node.dataSource);

  async function attempt(id: number, delay: string, leaseMs: number): Promise<void> {
    const [wake] = await store.lookAt([Number(delay)]);
    const [claim] = wake ? await store.claim([{ ...wake, leaseMs, maxAttempts: 10 }]) : [];
    if (claim === undefined) return;
    const { manager, commit, rollback } = await node.begin();
    await settle(manager, id, 'closed');
    await pause(workMs(id));
    const end = await new OtherNode(manager).tryRemove(claim);
    await (end === 'removed' ? commit() : rollback());
  }
  const ends = await inWaves(BY_HAND, async (id, delay) => {
    const isHere = async (): Promise<boolean> =>
      (await node.sql('SELECT FROM delay_queue.delay WHERE id = $1', [delay])).length > 0;
    // The first lease may end before the work, after it, or behind the removal.
    for (let leaseMs = (id * 5) % 40; await isHere(); leaseMs = 60_000) {
      await attempt(id, delay, leaseMs);
    }
  });
  expect(ends).toEqual(expect.arrayContaining(COMMON_ENDS));
  expect(ENDS).toEqual(expect.arrayContaining(ends));
});

it('a payer who holds the delay of a handler and waits for its order: the handler gives way', async () => {
  const completed = node.next('completed');
  await node.delays.schedule('test.x', null, { after: 0, key: '1' });
  await closed.promise;
  const { manager, commit } = await node.begin();
  await manager.query(`SELECT FROM delay_queue.delay WHERE name = 'test.x' FOR UPDATE`);
  const isPaid = settle(manager, 1, 'paid');
  await node.until(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    ({ length }) => length === 1,
  );
  goesOn.resolve();
  expect(await isPaid).toBe(true);
  await commit();
  // No attempt is spent on that.
  expect(await completed).toMatchObject({ key: '1', attempt: 1 });
  expect(await node.sql('SELECT status FROM purchase WHERE id = 1')).toEqual([{ status: 'paid' }]);
});
