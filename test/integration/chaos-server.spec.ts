import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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

const PORTS_OF_CLIENTS = 32_768;

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

  test('crashes twice when it is told twice at once', async () => {
    const server = await openChaosServer(() => {});
    const log = join(await dataOf(server), 'server.log');
    await Promise.all([server.crash(0), server.crash(0)]);
    expect(await server.sql('SELECT 1 AS n')).toEqual([{ n: 1 }]);
    const recovered = (await readFile(log, 'utf8')).match(/was not properly shut down/g);
    expect(recovered).toHaveLength(2);
    await server.stop();
  });

  test('has a port that no connection going out can take while it is down', async () => {
    const server = await openChaosServer(() => {});
    expect(Number(new URL(server.url).port)).toBeLessThan(PORTS_OF_CLIENTS);
    await server.stop();
  });

  test('is durable, and gives each run an empty database', async () => {
    const server = await openChaosServer(() => {});
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      expect(await server.sql(`SELECT current_setting('${setting}') AS is`)).toEqual([
        { is: 'on' },
      ]);
    }
    const first = await server.freshDatabase();
    await first.sql('CREATE TABLE mine ()');
    const second = await server.freshDatabase();
    expect(await second.sql(`SELECT to_regclass('mine') AS found`)).toEqual([{ found: null }]);
    const left = await connect(first.url);
    await first.drop();
    await expect(connect(first.url)).rejects.toMatchObject({ code: '3D000' });
    await left.end();
    await second.drop();
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
