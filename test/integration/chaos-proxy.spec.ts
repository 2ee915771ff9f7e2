import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pidOf, ProxiedDatabase } from './chaos/proxied-database.js';

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
