import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Client, type ClientConfig } from 'pg';
import { openProxy } from '../chaos/proxy/proxy.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

/** Sends each byte in a write of its own. */
function tricklingSocket(): Socket {
  const socket = new Socket();
  const write = socket.write.bind(socket);
  return Object.assign(socket, {
    write: (text: Uint8Array | string): boolean => {
      for (const byte of Buffer.from(text)) write(Buffer.from([byte]));
      return !socket.writableNeedDrain;
    },
  });
}

/** What `pg` says of a connection that ends in the middle of a statement. */
const LOST = /ECONNRESET|EPIPE|terminated/;

let database: TestDatabase;
let proxy: Awaited<ReturnType<typeof openProxy>>;
let direct: Client;
const clients: Client[] = [];

async function connect(url: string, config: ClientConfig = {}): Promise<Client> {
  const client = new Client({ ...config, connectionString: url });
  clients.push(client);
  client.on('error', () => {});
  await client.connect();
  return client;
}

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await openProxy(database.url);
  direct = await connect(database.url);
  await direct.query('CREATE TABLE written (n int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)');
});

afterEach(async () => {
  proxy.heal();
  await proxy.close();
  for (const client of clients.splice(0)) await client.end().catch(() => {});
  await database.drop();
});

async function written(): Promise<number[]> {
  const { rows } = await direct.query<{ n: number }>('SELECT n FROM written ORDER BY n');
  return rows.map(({ n }) => n);
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}

async function sessionExists(pid: number): Promise<boolean> {
  const { rowCount } = await direct.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid]);
  return rowCount === 1;
}

async function sessionEnds(pid: number): Promise<void> {
  while (await sessionExists(pid));
}

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
  for (let trip = 0; trip < 100; trip++) await direct.query('SELECT 1');
}

describe('the proxy', () => {
  test('hands on large values whole, in both directions', async () => {
    const client = await connect(proxy.url);
    const text = 'delay '.repeat(2_000_000);
    const { rows } = await client.query<{ text: string; bytes: number }>(
      'SELECT $1::text AS text, octet_length($1::text) AS bytes',
      [text],
    );
    expect(rows[0]?.bytes).toBe(text.length);
    expect(rows[0]?.text === text).toBe(true);
  });

  test('does not read on for a client that does not read', async () => {
    const client = await connect(proxy.url);
    const pid = await pidOf(client);
    const socket = (client as unknown as { connection: { stream: Socket } }).connection.stream;
    socket.pause();
    const answer = client.query(`SELECT repeat('x', 1000000) FROM generate_series(1, 300)`);
    const waiting = `SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'ClientWrite'`;
    while ((await direct.query(waiting, [pid])).rowCount !== 1);
    await manyRoundTrips();
    // 300 MB fit into no buffer on the way: the server itself waits.
    expect((await direct.query(waiting, [pid])).rowCount).toBe(1);
    socket.resume();
    expect((await answer).rowCount).toBe(300);
  });

  test('lets a client hear why the server ended its session', async () => {
    const client = await connect(proxy.url);
    const heard = new Promise((resolve) => client.once('error', resolve));
    await direct.query('SELECT pg_terminate_backend($1)', [await pidOf(client)]);
    expect(await heard).toMatchObject({ code: '57P01' });
  });

  test('ends the session of a client that goes', async () => {
    const client = await connect(proxy.url);
    const pid = await pidOf(client);
    await client.end();
    await sessionEnds(pid);
    expect(await sessionExists(pid)).toBe(false);
  });

  test('holds up both directions, in order, until it is told not to', async () => {
    const client = await connect(proxy.url);
    proxy.delay(60);
    const startedMs = performance.now();
    const answers: number[] = [];
    await Promise.all(
      [1, 2, 3].map(async (n) => {
        await client.query('SELECT 1');
        answers.push(n);
      }),
    );
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(3 * 2 * 60 - 3);
    expect(answers).toEqual([1, 2, 3]);

    proxy.delay(3_600_000);
    const late = client.query('SELECT 1');
    await manyRoundTrips();
    proxy.delay(0);
    await late;
  });

  test('resets connections and lets new ones in', async () => {
    const [busy, idle] = [await connect(proxy.url), await connect(proxy.url)];
    const pid = await pidOf(busy);
    const lost = new Promise((resolve) => idle.once('error', resolve));
    const sleeping = watched(busy.query('SELECT pg_sleep(3600)'));
    const asleep = `SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`;
    while ((await direct.query(asleep, [pid])).rowCount !== 1);
    proxy.cut();
    expect(await lost).toMatchObject({ code: 'ECONNRESET' });
    expect(await sleeping.ended).toMatch(LOST);
    const again = await connect(proxy.url);
    expect((await again.query('SELECT 1')).rowCount).toBe(1);
    // The server sees it only when it next writes or reads.
    await direct.query('SELECT pg_terminate_backend($1)', [pid]);
  });

  describe('half-open', () => {
    test('keeps connections and lets nothing through; what was sent arrives when it is healed', async () => {
      const client = await connect(proxy.url);
      const pid = await pidOf(client);
      proxy.halfOpen();
      const insert = watched(client.query('INSERT INTO written VALUES (1)'));
      const newcomer = watched(connect(proxy.url));
      await manyRoundTrips();
      expect(await written()).toEqual([]);
      expect([insert.state, newcomer.state]).toEqual(['pending', 'pending']);
      expect(await sessionExists(pid)).toBe(true);

      proxy.heal();
      expect([await insert.ended, await newcomer.ended]).toEqual(['answered', 'answered']);
      expect(await written()).toEqual([1]);
    });

    test('holds back an answer that is on its way', async () => {
      const client = await connect(proxy.url);
      await direct.query('BEGIN; LOCK TABLE written');
      const insert = watched(client.query('INSERT INTO written VALUES (1)'));
      const waits = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'written'::regclass`;
      while ((await direct.query(waits)).rowCount !== 1);
      proxy.halfOpen();
      await direct.query('COMMIT');
      while ((await written()).length === 0);
      await manyRoundTrips();
      expect(insert.state).toBe('pending');
      proxy.heal();
      expect(await insert.ended).toBe('answered');
    });

    test('does not tell the server that the client has gone, and runs late what it had sent', async () => {
      const client = await connect(proxy.url, { query_timeout: 20 });
      const pid = await pidOf(client);
      proxy.halfOpen();
      await expect(client.query('INSERT INTO written VALUES (1)')).rejects.toThrow('timeout');
      (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
      await manyRoundTrips();
      expect(await sessionExists(pid)).toBe(true);
      proxy.heal();
      await sessionEnds(pid);
      expect(await written()).toEqual([1]);
    });
  });

  describe.each<[string, ClientConfig]>([
    ['at once', {}],
    ['byte by byte', { stream: tricklingSocket }],
  ])('at a COMMIT that is sent %s', (_, config) => {
    /** As a driver does for text alone, and as it does with parameters. */
    const commits = [{ text: 'COMMIT' }, { text: 'COMMIT', queryMode: 'extended' as const }];

    test.each(commits)('cuts before: nothing is committed (%j)', async (commit) => {
      const client = await connect(proxy.url, config);
      const pid = await pidOf(client);
      proxy.cutBeforeCommit();
      await client.query('BEGIN');
      await client.query('INSERT INTO written VALUES (1)');
      await expect(client.query(commit)).rejects.toThrow(LOST);
      await sessionEnds(pid);
      expect(await written()).toEqual([]);
    });

    test.each(commits)('cuts after: all is committed, unheard (%j)', async (commit) => {
      const client = await connect(proxy.url, config);
      proxy.cutAfterCommit();
      await client.query('BEGIN');
      await client.query('INSERT INTO written VALUES (1)');
      await expect(client.query(commit)).rejects.toThrow(LOST);
      expect(await written()).toEqual([1]);
    });
  });

  test('cuts one COMMIT, the first of all connections', async () => {
    const [first, second] = [await connect(proxy.url), await connect(proxy.url)];
    proxy.cutAfterCommit();
    await first.query('BEGIN');
    await second.query('BEGIN');
    await second.query(`SELECT 'COMMIT'`);
    await second.query('ROLLBACK');
    await expect(first.query('COMMIT')).rejects.toThrow(LOST);
    await second.query('BEGIN');
    expect((await second.query('COMMIT')).command).toBe('COMMIT');
  });

  test('also keeps back that a COMMIT has failed', async () => {
    const client = await connect(proxy.url);
    await client.query('BEGIN');
    await client.query('INSERT INTO written VALUES (1), (1)');
    proxy.cutAfterCommit();
    await expect(client.query('COMMIT')).rejects.not.toHaveProperty('code', '23505');
    expect(await written()).toEqual([]);
  });

  test('lets COMMITs alone once it is healed', async () => {
    const client = await connect(proxy.url);
    proxy.cutBeforeCommit();
    proxy.heal();
    await client.query('BEGIN');
    expect((await client.query('COMMIT')).command).toBe('COMMIT');
  });
});
