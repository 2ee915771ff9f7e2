import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import type { FeedClient } from './support/feed-client.js';
import { SupervisedShop } from './support/supervised-shop.js';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

let database: TestDatabase;
let shop: SupervisedShop;
const watching: FeedClient[] = [];

async function open(): Promise<void> {
  database = await createEmptyDatabase();
  shop = await SupervisedShop.start(database.url, { ORDER_PAY_WITHIN: '3s' });
}

function leave(): void {
  for (const client of watching.splice(0)) client.close();
}

async function close(): Promise<void> {
  if (shop.process.running) await shop.stop();
  await database.drop({ force: true });
}

/** One shop for all of these: each leaves it open and well, but for the last one. */
describe('the processes of a shop', () => {
  beforeAll(open);
  afterEach(leave);
  afterAll(close);

  it('are two on one port, and each sees what the other one does', async () => {
    watching.push(...(await shop.watchBoth()));
    const [one, other] = watching as [FeedClient, FeedClient];
    expect([one.feed!.servedBy, other.feed!.servedBy].toSorted()).toEqual(['shop-1', 'shop-2']);
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push(await shop.place(1));
    for (const client of [one, other]) {
      for (const id of ids) await client.orderWhen(id, ({ status }) => status === 'CLOSED');
      const { processes } = await client.when(({ processes: both }) =>
        both.every(({ fired }) => fired > 0),
      );
      expect(processes).toMatchObject([
        { name: 'shop-1', state: 'up' },
        { name: 'shop-2', state: 'up' },
      ]);
    }
    await shop.process.waitForOutput(/#1001 placed, 1 × TEA-SAMPLE, stock -1\n/);
    await shop.process.waitForOutput(/#1001 closed, \d+ ms late, stock \+1, by shop-[12]\n/);
    expect(shop.process.output.match(/#1001 placed/g)).toHaveLength(1);
  });

  it('one is killed by a visitor and comes back; the other one closes its orders', async () => {
    const before = (await shop.processes())[0]!.pid!;
    watching.push(...(await shop.watchBoth()));
    const survivor = watching.find(({ feed }) => feed!.servedBy === 'shop-2')!;
    const ids: string[] = [];
    for (let i = 0; i < 10; i++) ids.push(await shop.place());

    const answer = await fetch(`${shop.url}/processes/shop-1/kill`, { method: 'POST' });
    expect(answer.status).toBe(202);
    await until(
      () => isAlive(before),
      (alive) => !alive,
    );
    await survivor.when(({ processes }) => processes[0]!.state === 'dead');
    const back = await survivor.when(({ processes }) => processes[0]!.state === 'up');
    expect(back.processes[0]!.pid).not.toBe(before);
    expect(back.processes[1]!.state).toBe('up');
    const told = back.happenings.filter(({ by }) => by === 'shop-1').map(({ what }) => what);
    expect(told).toEqual(expect.arrayContaining(['process.died', 'process.started']));

    for (const id of ids) await survivor.orderWhen(id, ({ status }) => status === 'CLOSED');
    await survivor.when(({ invariants }) => invariants?.ok === true);
    await shop.process.waitForOutput(/shop-1 died: killed by SIGKILL\n/);
    await shop.process.waitForOutput(/shop-1 is back, as \d+\n/);
    expect((await fetch(`${shop.url}/processes/shop-9/kill`, { method: 'POST' })).status).toBe(404);
  });

  it('all of them are killed, and the shop is back; a watcher connects again', async () => {
    const id = await shop.place();
    for (const { pid } of await shop.processes()) process.kill(pid!, 'SIGKILL');
    await shop.process.waitForOutput(
      /shop-1 is back[^]*shop-2 is back|shop-2 is back[^]*shop-1 is back/,
    );
    const again = await shop.watch();
    watching.push(again);
    const card = await again.orderWhen(id, ({ status }) => status === 'CLOSED');
    expect(card.closeReason).toBe('not paid in time');
  });

  it('have names that no other shop on the database has', async () => {
    const second = await SupervisedShop.start(database.url);
    const names = (await second.processes()).map(({ name }) => name);
    await second.stop();
    expect(names).toEqual(['shop-3', 'shop-4']);
  });

  it('stop together, and leave nobody behind', async () => {
    watching.push(...(await shop.watchBoth()));
    const pids = (await shop.processes()).map(({ pid }) => pid!);
    expect(await shop.stop()).toEqual({ code: 0, signal: null });
    expect(pids.filter(isAlive)).toEqual([]);
    await until(
      () => watching.every(({ ended }) => ended),
      (ended) => ended,
    );
  });
});

describe('the processes of a shop that ends', () => {
  beforeEach(open);
  afterEach(close);

  it('stop by themselves, also when somebody has left the feed and kept the connection', async () => {
    const response = await fetch(`${shop.url}/feed`);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(await shop.stop()).toEqual({ code: 0, signal: null });
    expect(shop.process.output).not.toContain('was killed');
  });

  it('end with their supervisor, however that one ends', async () => {
    const pids = (await shop.processes()).map(({ pid }) => pid!);
    await shop.process.kill('SIGKILL');
    const left = await until(
      () => pids.filter(isAlive),
      (alive) => alive.length === 0,
    );
    expect(left).toEqual([]);
  });
});
