import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type DelayNode, startNode } from '../support/delay-node.js';
import type { Worker } from './support/cluster.js';
import { OwnServer } from '../servers/support/own-server.js';
import { startLoneWorker } from './support/lone-worker.js';
import type { Served } from './support/worker.protocol.js';
import { until } from '../support/until.js';

const CRASHES = 3;
const BETWEEN_CRASHES = 60;
const QUIET_WITHIN_MS = 60_000;
const NAMES = ['test.plain', 'test.fenced'] as const;

let server: OwnServer;
let workers: Worker[];
let producer: DelayNode | undefined;

beforeEach(async () => {
  workers = [];
  server = await OwnServer.create({});
  await server.start();
  await server.migrate();
  // Without a unique key: what was done twice must show.
  await server.sql(`CREATE TABLE ledger (
    delay_id bigint NOT NULL, name text NOT NULL, key text, node text, attempt int NOT NULL,
    due timestamptz NOT NULL, lateness_ms float8 NOT NULL)`);
}, 90_000);

afterEach(async () => {
  for (const worker of workers) if (worker.running) await worker.kill('SIGKILL');
  await producer?.stop();
  producer = undefined;
  await server.remove();
});

/** It is away for a while. */
async function crash(): Promise<void> {
  await server.crash();
  await pause(300);
  await server.start();
}

/** What a caller knows: `schedule` came back, or nobody can tell whether it was committed. */
const acknowledged: string[] = [];
const unknown: string[] = [];

async function scheduleOne({ delays }: DelayNode): Promise<void> {
  const n = acknowledged.length + unknown.length;
  const key = `k${n}`;
  try {
    await delays.schedule(NAMES[n % 2]!, null, { after: (n % 10) * 50, key });
    acknowledged.push(key);
  } catch {
    unknown.push(key);
    // While the server is away, every refused attempt would count as one.
    await pause(50);
  }
}

/** Until no delay is left. */
async function quiet(): Promise<void> {
  await until(
    () => server.sql('SELECT * FROM delay_queue.delay LIMIT 3'),
    (left) => left.length === 0,
    { withinMs: QUIET_WITHIN_MS },
  );
}

it('Postgres crashes again and again: every process stays up, nothing acknowledged is lost, no transactional effect is doubled', async () => {
  const note: Served = { does: 'note', concurrency: 10 };
  const serves = { 'test.plain': note, 'test.fenced': { ...note, fenced: true } };
  for (const name of ['one', 'two']) {
    workers.push(
      await startLoneWorker(server.url, name, { serves, options: { maxAttempts: 1_000 } }),
    );
  }
  producer = await startNode({ url: server.url, options: { worker: false } });
  for (let crashes = 1; crashes <= CRASHES; crashes += 1) {
    const enough = acknowledged.length + BETWEEN_CRASHES;
    while (acknowledged.length < enough) await scheduleOne(producer);
    // In the middle of it: some of these are pending, some are claimed, some are being acknowledged.
    const down = new AbortController();
    const crashing = crash().finally(() => down.abort());
    while (!down.signal.aborted) await scheduleOne(producer);
    await crashing;
  }
  expect(unknown.length).toBeGreaterThan(0);
  await producer.delays.schedule('test.plain', null, { after: 0, key: 'last' });

  await quiet();
  for (const worker of workers) {
    expect(worker.running).toBe(true);
    expect(worker.messages.filter(({ event }) => event === 'trouble')).not.toEqual([]);
  }
  const ledger = await server.sql<{ name: string; key: string; lines: number }>(
    'SELECT name, key, count(*)::int AS lines FROM ledger GROUP BY name, key',
  );
  const lines = new Map(ledger.map((row) => [row.key, row.lines]));
  expect(acknowledged.filter((key) => !lines.has(key))).toEqual([]);
  expect(ledger.filter((row) => row.name === 'test.fenced' && row.lines !== 1)).toEqual([]);
  const asked = new Set([...acknowledged, ...unknown, 'last']);
  expect([...lines.keys()].filter((key) => !asked.has(key))).toEqual([]);
  expect(lines.has('last')).toBe(true);
}, 120_000);
