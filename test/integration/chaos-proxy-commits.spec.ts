import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ClientConfig } from 'pg';
import { LOST, pidOf, ProxiedDatabase } from './chaos/proxied-database.js';

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

let way: ProxiedDatabase;

beforeEach(async () => {
  way = await ProxiedDatabase.open();
});

afterEach(() => way.close());

describe('the proxy', () => {
  describe.each<[string, ClientConfig]>([
    ['at once', {}],
    ['byte by byte', { stream: tricklingSocket }],
  ])('at a COMMIT that is sent %s', (_, config) => {
    /** As a driver does for text alone, and as it does with parameters. */
    const commits = [{ text: 'COMMIT' }, { text: 'COMMIT', queryMode: 'extended' as const }];

    test.each(commits)('cuts before: nothing is committed (%j)', async (commit) => {
      const client = await way.connect(config);
      const pid = await pidOf(client);
      way.proxy.cutBeforeCommit();
      await client.query('BEGIN');
      await client.query('INSERT INTO written VALUES (1)');
      await expect(client.query(commit)).rejects.toThrow(LOST);
      await way.sessionEnds(pid);
      expect(await way.written()).toEqual([]);
    });

    test.each(commits)('cuts after: all is committed, unheard (%j)', async (commit) => {
      const client = await way.connect(config);
      way.proxy.cutAfterCommit();
      await client.query('BEGIN');
      await client.query('INSERT INTO written VALUES (1)');
      await expect(client.query(commit)).rejects.toThrow(LOST);
      expect(await way.written()).toEqual([1]);
    });
  });

  test('cuts one COMMIT, the first of all connections', async () => {
    const [first, second] = [await way.connect(), await way.connect()];
    way.proxy.cutAfterCommit();
    await first.query('BEGIN');
    await second.query('BEGIN');
    await second.query(`SELECT 'COMMIT'`);
    await second.query('ROLLBACK');
    await expect(first.query('COMMIT')).rejects.toThrow(LOST);
    await second.query('BEGIN');
    expect((await second.query('COMMIT')).command).toBe('COMMIT');
  });

  test('also keeps back that a COMMIT has failed', async () => {
    const client = await way.connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO written VALUES (1), (1)');
    way.proxy.cutAfterCommit();
    await expect(client.query('COMMIT')).rejects.not.toHaveProperty('code', '23505');
    expect(await way.written()).toEqual([]);
  });

  test('lets COMMITs alone once it is healed', async () => {
    const client = await way.connect();
    way.proxy.cutBeforeCommit();
    way.proxy.heal();
    await client.query('BEGIN');
    expect((await client.query('COMMIT')).command).toBe('COMMIT');
  });
});
