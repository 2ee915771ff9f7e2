import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Client } from 'pg';
import { freePortOf } from '../../src/processes/port.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import type { FeedClient } from './support/feed-client.js';
import { SupervisedShop } from './support/supervised-shop.js';

const ESCAPE = '\u001B';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const untilDead = (pids: number[]): Promise<number[]> =>
  until(
    () => pids.filter(isAlive),
    (alive) => alive.length === 0,
  );

const namesOf = async (of: SupervisedShop): Promise<string[]> =>
  (await of.processes()).map(({ name }) => name);
const pidsOf = async (of: SupervisedShop): Promise<number[]> =>
  (await of.processes()).map(({ pid }) => pid!);

/** Two shops for all of these: each test leaves what the next one needs. */
describe('the processes of a shop', () => {
  let database: TestDatabase;
  let shop: SupervisedShop;
  let other: SupervisedShop;
  const watching: FeedClient[] = [];

  // Both on a database that is empty, at the same time.
  beforeAll(async () => {
    database = await createEmptyDatabase();
    const env = { ORDER_PAY_WITHIN: '2s' };
    [shop, other] = await Promise.all([
      SupervisedShop.start(database.url, env),
      SupervisedShop.start(database.url, { ...env, LOG_LEVEL: 'log' }),
    ]);
  });
  afterEach(() => {
    for (const client of watching.splice(0)) client.close();
  });
  afterAll(async () => {
    for (const each of [shop, other]) if (each.process.running) await each.stop();
    await database.drop({ force: true });
  });

  const place = (count: number): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, (_, i) => (i % 2 ? shop : other).place()));
  it('say where the page is, first, then how to stop; nothing of Nest, and no colours in a pipe', async () => {
    await shop.process.waitForOutput(/\/docs\n/);
    const lines = shop.process.output.split('\n').filter((line) => line.trim() !== '');
    expect(lines[0]).toBe(`  The shop is open:  ${shop.url}`);
    expect(lines[1]).toMatch(/^ {2}Ctrl\+C stops it\./);
    expect(lines).toHaveLength(5);
    expect(shop.process.output).not.toContain(ESCAPE);
    // The other one was asked for the log of Nest: each line with its process.
    for (const name of await namesOf(other)) {
      expect(other.process.output).toContain(
        `${name} info [NestFactory] Starting Nest application`,
      );
    }
    const port = Number(new URL(shop.url).port);
    await expect(freePortOf({ host: '127.0.0.1', port })).rejects.toThrow(
      `The shop runs already: ${shop.url}. For another one beside it: PORT=${port + 1} npm start`,
    );
  });

  it('have names that no other shop on the database has', async () => {
    const names = [...(await namesOf(shop)), ...(await namesOf(other))];
    expect(names.toSorted()).toEqual(['shop-1', 'shop-2', 'shop-3', 'shop-4']);
  });

  it('end with their supervisor, however that one ends; the other shop closes the orders, each once', async () => {
    const ids = await place(30);
    const [pids, names] = [await pidsOf(other), await namesOf(other)];
    await other.process.kill('SIGKILL');
    expect(await untilDead(pids)).toEqual([]);

    const client = new Client(database.url);
    await client.connect();
    try {
      const closed = async (): Promise<number> => {
        // Half a minute passes: what the killed ones had claimed comes back when its lease is over.
        await client.query(
          `UPDATE delay_queue.delay SET leased_until = clock_timestamp() WHERE leased_by = ANY ($1)`,
          [names],
        );
        const { rowCount } = await client.query(`SELECT FROM orders WHERE status = 'CLOSED'`);
        return rowCount!;
      };
      await until(closed, (count) => count === ids.length);
    } finally {
      await client.end();
    }
    const answer = await fetch(`${shop.url}/invariants`);
    expect(await answer.json()).toMatchObject({ ok: true });
  });

  it('are two on one port, and each sees and tells what the other one does', async () => {
    watching.push(...(await shop.watchBoth()));
    const both = watching.map(({ feed }) => feed!.servedBy);
    expect(both.toSorted()).toEqual(await namesOf(shop));
    const ids = await Promise.all(Array.from({ length: 20 }, () => shop.place()));
    for (const client of watching) {
      for (const id of ids) await client.orderWhen(id, ({ status }) => status === 'CLOSED');
      const { processes } = await client.when((feed) =>
        feed.processes.every(({ fired }) => fired > 0),
      );
      expect(processes.map(({ state }) => state)).toEqual(['up', 'up']);
    }
    await shop.process.waitForOutput(/#1031 placed, 1 × TEA-SAMPLE, stock -1\n/);
    await shop.process.waitForOutput(/#1031 closed, \d+ ms late, stock \+1, by shop-\d\n/);
    expect(shop.process.output.match(/#1031 placed/g)).toHaveLength(1);
  });

  it('one is killed by a visitor and comes back; the other one closes its orders', async () => {
    const [victim, survivor] = (await shop.processes()) as [{ name: string; pid: number }, object];
    watching.push(...(await shop.watchBoth()));
    const watcher = watching.find(({ feed }) => feed!.servedBy !== victim.name)!;
    const ids = await Promise.all(Array.from({ length: 10 }, () => shop.place()));

    const kill = (name: string) => fetch(`${shop.url}/processes/${name}/kill`, { method: 'POST' });
    expect((await kill(victim.name)).status).toBe(202);
    expect(await untilDead([victim.pid])).toEqual([]);
    await watcher.when(({ processes }) => processes[0]!.state === 'dead');
    const back = await watcher.when(({ processes }) => processes[0]!.state === 'up');
    expect(back.processes[0]!.pid).not.toBe(victim.pid);
    expect(back.processes[1]).toMatchObject(survivor);
    const told = back.happenings.filter(({ by }) => by === victim.name).map(({ what }) => what);
    expect(told).toEqual(expect.arrayContaining(['process.died', 'process.started']));

    for (const id of ids) await watcher.orderWhen(id, ({ status }) => status === 'CLOSED');
    await watcher.when(({ invariants }) => invariants?.ok === true);
    await shop.process.waitForOutput(/shop-\d died: killed by SIGKILL\n/);
    await shop.process.waitForOutput(/shop-\d is back, as \d+\n/);
    expect((await kill('shop-9')).status).toBe(404);
  });

  it('all of them are killed, and the shop is back; a watcher connects again', async () => {
    const id = await shop.place();
    const pids = await pidsOf(shop);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await untilDead(pids);
    const again = await shop.watch();
    watching.push(again);
    const card = await again.orderWhen(id, ({ status }) => status === 'CLOSED');
    expect(card.closeReason).toBe('not paid in time');
    await again.when(({ processes }) => processes.every(({ state }) => state === 'up'));
  });

  it('stop together by the two signals of one Ctrl+C under npm, also when somebody has left the feed and others hold connections', async () => {
    // Browsers keep some ready, and send nothing: one to each process.
    const silent = [0, 1].map(() => connect(Number(new URL(shop.url).port), '127.0.0.1'));
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    const released = silent.map((socket) => once(socket.resume(), 'close'));
    const reader = (await fetch(`${shop.url}/feed`)).body!.getReader();
    await reader.read();
    await reader.cancel();
    watching.push(...(await shop.watchBoth()));
    const pids = await pidsOf(shop);
    process.kill(shop.process.pid, 'SIGINT');
    expect(await shop.stop()).toEqual({ code: 0, signal: null });
    expect(pids.filter(isAlive)).toEqual([]);
    expect(shop.process.output).not.toContain('was killed');
    await Promise.all(released);
    await until(
      () => watching.every(({ ended }) => ended),
      (ended) => ended,
    );
  });
});
