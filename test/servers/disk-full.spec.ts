import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DelayNode, fencedHandler, plainHandler, startNode } from '../support/delay-node.js';
import { OwnServer } from './support/own-server.js';
import { sayNotRun } from './support/programs.js';
import { SmallDisk } from './support/small-disk.js';
import { until } from '../support/until.js';

const isPossible = SmallDisk.isPossible();
if (!isPossible) {
  sayNotRun('test/servers/disk-full.spec.ts', 'It mounts a small tmpfs, on Linux and as root.');
}

const DISK_FULL = '53100';
const DISK_MB = 16;
const COUNT = 30;

let server: OwnServer;
let disk: SmallDisk;
let node: DelayNode;
/** How often each delay's plain handler ran. */
let runs: Map<string, number>;

beforeEach(async () => {
  if (!isPossible) return;
  server = await OwnServer.create({ fsync: 'off' });
  await server.start();
  disk = await SmallDisk.mount(DISK_MB);
  // The library's tables on the small disk, the WAL and the application's on another.
  await server.sql(`CREATE TABLESPACE small LOCATION '${disk.tablespace}'`);
  await server.sql('ALTER DATABASE postgres SET default_tablespace = small');
  await server.migrate();
  await server.sql('CREATE TABLE effect (key text NOT NULL) TABLESPACE pg_default');
  runs = new Map();
  node = await startNode({
    url: server.url,
    providers: [
      plainHandler('test.plain', ({ key }) => void runs.set(key!, (runs.get(key!) ?? 0) + 1)),
      fencedHandler('test.fenced', async ({ key }, { manager }) => {
        await manager.query('INSERT INTO effect VALUES ($1)', [key]);
      }),
    ],
    // Leases outlive the shortage: what ran once need not run again.
    options: {
      lease: '5m',
      timeout: '5m',
      maxAttempts: 1_000,
      backoff: { base: 200, max: 200, jitter: 0 },
    },
  });
});

afterEach(async () => {
  await node?.stop();
  await server?.remove();
  await disk?.unmount();
});

/** Keys of the delays that were acknowledged, until one is refused; and that refusal. */
async function scheduleUntilRefused(): Promise<{ accepted: string[]; refusal: unknown }> {
  const accepted: string[] = [];
  for (;;) {
    const key = `late-${accepted.length}`;
    try {
      await node.delays.schedule('test.plain', null, { after: 0, key });
      accepted.push(key);
    } catch (refusal) {
      return { accepted, refusal };
    }
  }
}

(isPossible ? describe : describe.skip)('a disk that is full', () => {
  it('is reported, costs nothing that was acknowledged, and the node goes on when there is room', async () => {
    const keys = Array.from({ length: COUNT }, (_, n) => `k${n}`);
    for (const name of ['test.plain', 'test.fenced'] as const) {
      await node.delays.scheduleMany(
        keys.map((key) => ({ name, payload: null, key, after: 2_000 })),
      );
    }
    await disk.fill();
    const isFull = ({ error }: { error: unknown }): boolean =>
      (error as { code?: unknown }).code === DISK_FULL;
    const trouble = node.next('taskFailed', isFull);
    const retrying = node.next('retrying');

    const { accepted, refusal } = await scheduleUntilRefused();
    expect(refusal).toMatchObject({
      code: DISK_FULL,
      message: expect.stringMatching(/No space left on device/),
    });
    expect(await retrying).toMatchObject({
      name: 'test.fenced',
      error: expect.stringMatching(/No space left on device/),
    });
    expect(await trouble).toMatchObject({ task: 'complete' });
    const recovered = node.next('taskRecovered', ({ task }) => task === 'complete');

    await disk.makeRoom();
    await recovered;
    await node.delays.schedule('test.plain', null, { after: 0, key: 'afterwards' });
    await until(
      () => server.sql<{ left: number }>('SELECT count(*)::int AS left FROM delay_queue.delay'),
      ([row]) => row?.left === 0,
    );
    const plain = [...keys, ...accepted, 'afterwards'];
    expect(Object.fromEntries(runs)).toEqual(Object.fromEntries(plain.map((key) => [key, 1])));
    const effects = await server.sql<{ key: string }>('SELECT key FROM effect');
    expect(effects.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    const ends = await server.sql(
      `SELECT state, count(*)::int AS count FROM delay_queue.history GROUP BY state`,
    );
    expect(ends).toEqual([{ state: 'completed', count: plain.length + COUNT }]);
  });
});
