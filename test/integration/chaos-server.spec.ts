import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { openChaosServer, type OwnServer } from '../chaos/server/chaos-server.js';
import { NodeProcess } from '../support/node-process.js';

interface Report extends Record<string, unknown> {
  url?: string;
  data?: string;
  crashing?: boolean;
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function dataOf(server: OwnServer): Promise<string> {
  const [row] = await server.sql<{ data: string }>(
    `SELECT current_setting('data_directory') AS data`,
  );
  return row?.data ?? '';
}

describe('the server of a chaos run', () => {
  test('crashes, recovers what was acknowledged, and comes back at the same address', async () => {
    const server = await openChaosServer(() => {});
    await server.sql('CREATE TABLE kept AS SELECT 1 AS n');
    const witness = await connect(server.url);
    const cut = new Promise((resolve) => witness.once('error', resolve));
    const crash = server.crash(200);
    await cut;
    // Sent while it is away, answered when it is back.
    const answer = server.sql('SELECT n FROM kept');
    await crash;
    const again = await connect(server.url);
    await again.end();
    expect(await answer).toEqual([{ n: 1 }]);
    await server.stop();
  });

  test('stops in the middle of a crash, and leaves nothing behind', async () => {
    const server = await openChaosServer(() => {});
    const folder = dirname(await dataOf(server));
    const witness = await connect(server.url);
    const cut = new Promise((resolve) => witness.once('error', resolve));
    const crash = Promise.allSettled([server.crash(3_600_000)]);
    await cut;
    await server.stop();
    expect(await crash).toMatchObject([
      { reason: { message: expect.stringContaining('the process that owns the server ended') } },
    ]);
    expect(existsSync(folder)).toBe(false);
  });

  test.each(['runs', 'is down'])('is removed when the run is killed while it %s', async (when) => {
    const run = NodeProcess.start<Report>('test/integration/fixtures/chaos-run.ts');
    const { url = '', data = '' } = await run.waitFor((message) => message.url !== undefined);
    const witness = await connect(url);
    const cut = new Promise((resolve) => witness.once('error', resolve));
    if (when === 'is down') {
      run.send({});
      await cut;
    }
    await run.kill('SIGKILL');
    await cut;
    while (existsSync(dirname(data))) await pause(10);
    await expect(connect(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
