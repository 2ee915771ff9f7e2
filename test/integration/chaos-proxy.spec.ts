import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LOST, pidOf, ProxiedDatabase } from './chaos/proxied-database.js';

let way: ProxiedDatabase;

beforeEach(async () => {
  way = await ProxiedDatabase.open();
});

afterEach(() => way.close());

/** Tells how it ended, and until then that it has not. */
function watched(work: Promise<unknown>): { state: string; ended: Promise<unknown> } {
  const watch = { state: 'pending', ended: Promise.resolve() as Promise<unknown> };
  watch.ended = work.then(
    () => (watch.state = 'answered'),
    (error: Error) => (watch.state = error.message),
  );
  return watch;
}

/** Long enough for whatever could pass to have passed: a way of the same length, many times. */
async function manyRoundTrips(): Promise<void> {
  for (let trip = 0; trip < 100; trip++) await way.direct.query('SELECT 1');
}

describe('the proxy', () => {
  test('hands on large values whole, in both directions', async () => {
    const client = await way.connect();
    const text = 'delay '.repeat(2_000_000);
    const { rows } = await client.query<{ text: string; bytes: number }>(
      'SELECT $1::text AS text, octet_length($1::text) AS bytes',
      [text],
    );
    expect(rows[0]?.bytes).toBe(text.length);
    expect(rows[0]?.text === text).toBe(true);
  });

  test('does not read on for a client that does not read', async () => {
    const client = await way.connect();
    const pid = await pidOf(client);
    const socket = (client as unknown as { connection: { stream: Socket } }).connection.stream;
    socket.pause();
    const answer = client.query(`SELECT repeat('x', 1000000) FROM generate_series(1, 300)`);
    const waiting = `SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'ClientWrite'`;
    while ((await way.direct.query(waiting, [pid])).rowCount !== 1);
    await manyRoundTrips();
    // 300 MB fit into no buffer on the way: the server itself waits.
    expect((await way.direct.query(waiting, [pid])).rowCount).toBe(1);
    socket.resume();
    expect((await answer).rowCount).toBe(300);
  });

  test('lets a client hear why the server ended its session', async () => {
    const client = await way.connect();
    const heard = new Promise((resolve) => client.once('error', resolve));
    await way.direct.query('SELECT pg_terminate_backend($1)', [await pidOf(client)]);
    expect(await heard).toMatchObject({ code: '57P01' });
  });

  test('ends the session of a client that goes', async () => {
    const client = await way.connect();
    const pid = await pidOf(client);
    await client.end();
    await way.sessionEnds(pid);
    expect(await way.sessionExists(pid)).toBe(false);
  });

  test('holds up both directions, in order, until it is told not to', async () => {
    const client = await way.connect();
    way.proxy.delay(60);
    const startedMs = performance.now();
    for (let n = 0; n < 3; n += 1) await client.query('SELECT 1');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(3 * 2 * 60 - 3);
    // Enough to come in many pieces.
    const { rows } = await client.query<{ n: number }>('SELECT n FROM generate_series(1, 9999) n');
    expect(rows.every(({ n }, before) => n === before + 1)).toBe(true);
    expect(rows).toHaveLength(9_999);

    way.proxy.delay(3_600_000);
    const late = client.query('SELECT 1');
    await manyRoundTrips();
    way.proxy.delay(0);
    await late;
  });

  test('resets connections and lets new ones in', async () => {
    const [busy, idle] = [await way.connect(), await way.connect()];
    const pid = await pidOf(busy);
    const lost = new Promise((resolve) => idle.once('error', resolve));
    const sleeping = watched(busy.query('SELECT pg_sleep(3600)'));
    const asleep = `SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`;
    while ((await way.direct.query(asleep, [pid])).rowCount !== 1);
    way.proxy.cut();
    expect(await lost).toMatchObject({ code: 'ECONNRESET' });
    expect(await sleeping.ended).toMatch(LOST);
    const again = await way.connect();
    expect((await again.query('SELECT 1')).rowCount).toBe(1);
    // The server sees it only when it next writes or reads.
    await way.direct.query('SELECT pg_terminate_backend($1)', [pid]);
  });

  describe('half-open', () => {
    test('keeps connections and lets nothing through; what was sent arrives when it is healed', async () => {
      const client = await way.connect();
      const pid = await pidOf(client);
      way.proxy.halfOpen();
      const insert = watched(client.query('INSERT INTO written VALUES (1)'));
      const newcomer = watched(way.connect());
      await manyRoundTrips();
      expect(await way.written()).toEqual([]);
      expect([insert.state, newcomer.state]).toEqual(['pending', 'pending']);
      expect(await way.sessionExists(pid)).toBe(true);

      way.proxy.heal();
      expect([await insert.ended, await newcomer.ended]).toEqual(['answered', 'answered']);
      expect(await way.written()).toEqual([1]);
    });

    test('holds back an answer that is on its way', async () => {
      const client = await way.connect();
      await way.direct.query('BEGIN; LOCK TABLE written');
      const insert = watched(client.query('INSERT INTO written VALUES (1)'));
      const waits = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'written'::regclass`;
      while ((await way.direct.query(waits)).rowCount !== 1);
      way.proxy.halfOpen();
      await way.direct.query('COMMIT');
      while ((await way.written()).length === 0);
      await manyRoundTrips();
      expect(insert.state).toBe('pending');
      way.proxy.heal();
      expect(await insert.ended).toBe('answered');
    });

    test('does not tell the server that the client has gone, and runs late what it had sent', async () => {
      const client = await way.connect({ query_timeout: 20 });
      const pid = await pidOf(client);
      way.proxy.halfOpen();
      await expect(client.query('INSERT INTO written VALUES (1)')).rejects.toThrow('timeout');
      (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
      await manyRoundTrips();
      expect(await way.sessionExists(pid)).toBe(true);
      way.proxy.heal();
      await way.sessionEnds(pid);
      expect(await way.written()).toEqual([1]);
    });
  });
});
