import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePortOf } from '../../src/processes/port.js';
import { reserveNames } from '../../src/processes/reservation.js';
import type { Happening } from '../../src/shop/feed/feed.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { atOnce } from './support/at-once.js';
import type { FeedClient } from './support/feed-client.js';
import { isAlive, SupervisedShop, untilDead } from './support/supervised-shop.js';

const ESCAPE = '\u001B';

const untilClosed = async (by: FeedClient, ids: string[]): Promise<void> => {
  for (const id of ids) await by.orderWhen(id, ({ status }) => status === 'CLOSED');
};

/** One shop for all of these: each test leaves what the next one needs. */
describe('the processes of a shop', () => {
  let database: TestDatabase;
  let shop: SupervisedShop;
  const watching: FeedClient[] = [];

  beforeAll(async () => {
    database = await createEmptyDatabase();
    shop = await SupervisedShop.start(database.url, { ORDER_PAY_WITHIN: '1500ms' });
  });
  afterEach(() => {
    for (const client of watching.splice(0)) client.close();
  });
  afterAll(async () => {
    if (shop.process.running) await shop.stop();
    await database.drop({ force: true });
  });

  it('say where the page is, first, then how to stop; nothing of Nest, and no colours in a pipe', async () => {
    await shop.process.waitForOutput(/\/docs\n/);
    const lines = shop.process.output.split('\n').filter((line) => line.trim() !== '');
    expect(lines[0]).toBe(`  The shop is open:  ${shop.url}`);
    expect(lines[1]).toMatch(/^ {2}Ctrl\+C stops it\./);
    expect(lines).toHaveLength(6);
    expect(shop.process.output).not.toContain(ESCAPE);
    const port = Number(new URL(shop.url).port);
    await expect(freePortOf({ host: '127.0.0.1', port })).rejects.toThrow(
      `The shop already runs at ${shop.url}. To start another one: PORT=${port + 1} npm start`,
    );
  });

  it('have names that no other shop on the database has', async () => {
    expect(await shop.names()).toEqual(['shop-1', 'shop-2']);
    const other = await reserveNames(database.url, 2);
    expect(other.names).toEqual(['shop-3', 'shop-4']);
    await other.release();
  });

  it('are two on one port, and each sees and tells what the other one does', async () => {
    watching.push(...(await shop.watchBoth()));
    const both = watching.map(({ feed }) => feed!.servedBy);
    expect(both.toSorted()).toEqual(await shop.names());
    const ids = await atOnce(20, () => shop.place());
    for (const client of watching) {
      await untilClosed(client, ids);
      const { processes } = await client.when((feed) =>
        feed.processes.every(({ fired }) => fired > 0),
      );
      expect(processes.map(({ state }) => state)).toEqual(['up', 'up']);
    }
    await shop.process.waitForOutput(/#1001 placed, 1 × TEA-SAMPLE, stock -1\n/);
    await shop.process.waitForOutput(/#1001 closed, \d+ ms late, stock \+1, by shop-\d\n/);
    expect(shop.process.output.match(/#1001 placed/g)).toHaveLength(1);
  });

  it('one is killed by a visitor, and the other one goes on; when both are dead, both come back, and close the orders', async () => {
    const [victim, survivor] = await shop.processes();
    watching.push(...(await shop.watchBoth()));
    const watcher = watching.find(({ feed }) => feed!.servedBy === survivor!.name)!;
    const ids = await atOnce(10, () => shop.place());
    const kill = (name: string) => fetch(`${shop.url}/processes/${name}/kill`, { method: 'POST' });
    expect((await kill('shop-9')).status).toBe(404);
    expect((await kill(victim!.name)).status).toBe(202);
    await untilDead([victim!.pid!]);
    const hasDied = ({ what, by }: Happening) => what === 'process.died' && by === victim!.name;
    const { processes } = await watcher.when(({ happenings }) => happenings.some(hasDied));
    expect(processes[1]).toMatchObject(survivor!);
    // The first one may be on its way back.
    const alive = (await shop.processes()).flatMap(({ pid }) => pid ?? []);
    for (const pid of alive) process.kill(pid, 'SIGKILL');
    await untilDead(alive);

    const again = await shop.watch();
    watching.push(again);
    const back = await again.when((feed) => feed.processes.every(({ state }) => state === 'up'));
    const told = back.happenings.filter(({ by }) => by === victim!.name).map(({ what }) => what);
    expect(told).toEqual(expect.arrayContaining(['process.died', 'process.started']));
    await untilClosed(again, ids);
    await again.when(({ invariants }) => invariants?.ok === true);
    await shop.process.waitForOutput(/shop-\d died: killed by SIGKILL\n/);
    await shop.process.waitForOutput(/shop-\d is back, as \d+\n/);
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
    const pids = await shop.pids();
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
