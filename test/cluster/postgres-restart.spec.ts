import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';
import { OwnServer } from '../servers/support/own-server.js';
import type { Served } from './support/worker.protocol.js';

const CRASHES = 2;
const BETWEEN_CRASHES = 30;

let server: OwnServer;

const cluster = new Cluster(async () => {
  server = await OwnServer.create({});
  await server.start();
  await server.migrate();
  return { url: server.url, drop: () => server.remove() };
});

/** It is away for a while. */
async function crash(): Promise<void> {
  await server.crash();
  await pause(300);
  await server.start();
}

it('Postgres crashes again and again: every process stays up, nothing acknowledged is lost, no transactional effect is doubled', async () => {
  const note: Served = { does: 'note', concurrency: 10 };
  const serves = { 'test.plain': note, 'test.fenced': { ...note, fenced: true } };
  const workers = await Promise.all(
    ['one', 'two'].map((name) => cluster.worker(name, serves, { options: { maxAttempts: 1_000 } })),
  );
  const { delays } = await cluster.producer();

  /** What a caller knows: `schedule` came back, or nobody can tell whether it was committed. */
  const acknowledged: string[] = [];
  const unknown: string[] = [];
  const scheduleOne = async (): Promise<void> => {
    const n = acknowledged.length + unknown.length;
    const key = `k${n}`;
    try {
      const name = n % 2 === 0 ? 'test.plain' : 'test.fenced';
      await delays.schedule(name, null, { after: (n % 10) * 50, key });
      acknowledged.push(key);
    } catch {
      unknown.push(key);
      // While the server is away, every refused attempt would count as one.
      await pause(50);
    }
  };
  for (let crashes = 1; crashes <= CRASHES; crashes += 1) {
    const enough = acknowledged.length + BETWEEN_CRASHES;
    while (acknowledged.length < enough) await scheduleOne();
    // In the middle of it: some of these are pending, some are claimed, some are being acknowledged.
    const down = new AbortController();
    const crashing = crash().finally(() => down.abort());
    while (!down.signal.aborted) await scheduleOne();
    await crashing;
  }
  expect(unknown.length).toBeGreaterThan(0);
  await delays.schedule('test.plain', null, { after: 0, key: 'last' });

  await cluster.quiet();
  for (const worker of workers) {
    expect(worker.running).toBe(true);
    expect(worker.messages.filter(({ event }) => event === 'taskFailed')).not.toEqual([]);
  }
  const fenced = await cluster.timesDone('test.fenced');
  expect([...fenced].filter(([, times]) => times !== 1)).toEqual([]);
  const done = new Set([...fenced.keys(), ...(await cluster.timesDone('test.plain')).keys()]);
  expect([...acknowledged, 'last'].filter((key) => !done.has(key))).toEqual([]);
  const asked = new Set([...acknowledged, ...unknown, 'last']);
  expect([...done].filter((key) => !asked.has(key))).toEqual([]);
}, 120_000);
