import { expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import { Client } from 'pg';
import { ChaosServer, RUN_APPLICATION } from '../chaos/server/chaos-server.js';
import { OF_THIS_DATABASE } from '../support/of-this-database.js';
import { until } from '../support/until.js';
import { SmallWorld } from './chaos/small-world.js';

const HALF_AN_HOUR_MS = 1_800_000;

let world: SmallWorld;
let probes: Client[] = [];

/** Collects what `see` finds at each wait of the fault. */
function seen<Found>(see: () => Promise<Found> | Found): Found[] {
  const found: Found[] = [];
  world.look = async () => found.push(await see());
  return found;
}

/** A session through each proxy, that breaks in silence. */
async function throughEach(): Promise<Client[]> {
  for (const { proxy } of world.nodes) {
    const probe = new Client({ connectionString: proxy.url });
    probe.on('error', () => {});
    await probe.connect();
    probes.push(probe);
  }
  return probes;
}

const rows = (names: readonly string[]): Promise<number> =>
  world.count(
    `FROM written WHERE row IN (${names.map((name) => `'${name}'`).join(',') || 'NULL'})`,
  );

/**
 * How the harm of a fault shows. Not of those without which the chaos run would not find its mutants: a kill, a pause,
 * a block, a pool without connections, a crash, ended sessions, cuts, and a COMMIT without an answer.
 */
const HARM: Record<string, () => Promise<void>> = {
  'pause-short': async () => {
    const stops = seen(() => 0);
    await world.harm('pause-short');
    await world.isWell();
    expect(stops.length).toBeGreaterThan(1);
    expect(world.stoodMs).toBeGreaterThan(50);
  },
  nobody: async () => {
    const running = seen(() => world.nodes.filter((node) => node.running).map(({ role }) => role));
    await world.harm('nobody');
    expect(running).toEqual([['producer']]);
    expect(world.started).toEqual([{}, {}]);
  },
  deploy: async () => {
    await world.harm('deploy');
    expect(world.ended).toEqual(['code 0', 'code 0', 'code 0']);
    const without = world.started.map((how) => how.without?.join() ?? '');
    expect(without.toSorted()).toEqual(['', '', 'chaos.rare']);
    expect(without.at(-1)).toBe('');
  },
  clock: async () => {
    const shifts = (): number[] => world.told.flatMap(({ clockMs }) => clockMs ?? []);
    // However slow the process is: it has told of each change before the next one comes.
    const changes: number[][] = seen(() => until(shifts, ({ length }) => length > changes.length));
    await world.harm('clock');
    expect(Math.abs(shifts()[0] ?? 0)).toBeGreaterThan(HALF_AN_HOUR_MS);
    expect(new Set(shifts().map((ms) => Math.round(ms / 1_000))).size).toBeGreaterThan(2);
    expect(world.started.at(-1)).toEqual({});
  },
  latency: async () => {
    const all = await throughEach();
    const trips = seen(async () => {
      const startedMs = performance.now();
      await Promise.all(all.map((probe) => probe.query('SELECT 1')));
      return performance.now() - startedMs;
    });
    await world.harm('latency');
    // There and back: with this seed the worst delay is above 350 ms, and one way alone would be half of it. Node's timers
    // may ring a millisecond early.
    expect(Math.max(...trips)).toBeGreaterThan(600);
  },
  'half-open': async () => {
    const names = (await throughEach()).map((_, n) => `probe-${n}`);
    const written = seen(async () => {
      // The client goes at once, and the server does not hear of that, nor of what it had said.
      for (const [n, probe] of probes.entries()) {
        probe.query('INSERT INTO written VALUES ($1)', [names[n]]).catch(() => {});
        const { stream } = (probe as unknown as { connection: { stream: Socket } }).connection;
        stream.end();
      }
      await until(
        () => rows(names),
        (count) => count >= 2,
      );
      // Long enough for whatever could pass to have passed: a way of the same length, many times.
      for (let trip = 0; trip < 100; trip++) await world.database.sql('SELECT 1');
      return rows(names);
    });
    // With this seed nothing is lost in the end.
    await world.harm('half-open', 2);
    expect(written).toEqual([2]);
    await until(
      () => rows(names),
      (count) => count === 3,
    );
    // Late, and nothing else.
    expect(world.codes).toEqual([]);
  },
  'commit-lost': async () => {
    // However slow the process is: it comes to a COMMIT while one would be cut off.
    seen(() =>
      until(
        () => world.brokenAtCommit.length,
        (broken) => broken > 0,
      ),
    );
    await world.harm('commit-lost');
    await world.isWell();
    expect(world.brokenAtCommit.length).toBeGreaterThan(0);
    expect(await rows(world.brokenAtCommit)).toBe(0);
  },
  locks: async () => {
    const unlocked = `FROM (SELECT FROM delay_queue.delay FOR UPDATE SKIP LOCKED) AS free`;
    const table = `FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted
      AND relation = 'delay_queue.delay'::regclass AND ${OF_THIS_DATABASE}`;
    const found = seen(async () => {
      if ((await world.count(table)) > 0) return 'table';
      return (await world.count(unlocked)) < 1_000 ? 'rows' : 'nothing';
    });
    await world.harm('locks');
    expect(new Set(found)).toEqual(new Set(['rows', 'table']));
    expect([await world.count(table), await world.count(unlocked)]).toEqual([0, 1_000]);
  },
  snapshot: async () => {
    const held = `FROM pg_stat_activity
      WHERE datname = current_database() AND backend_xmin IS NOT NULL
      AND state = 'idle in transaction' AND application_name = '${RUN_APPLICATION}'`;
    const found = seen(() => world.count(held));
    await world.harm('snapshot');
    expect(found).toEqual([1]);
    expect(await world.count(held)).toBe(0);
  },
};

async function tryFault(kind: string, harm: () => Promise<void>): Promise<void> {
  world.look = () => {};
  probes = [];
  try {
    await harm();
    await world.isWell();
    expect(world.nodes.map(({ running }) => running)).toEqual([true, true, true]);
  } catch (error) {
    throw new Error(`${kind}: ${String(error)}`, { cause: error });
  } finally {
    for (const probe of probes) await probe.end().catch(() => {});
  }
}

// One test: faults replace processes, and what a test has started does not outlive it.
test('faults do harm, and are mended', async () => {
  const server = await ChaosServer.start();
  world = await SmallWorld.open(server);
  try {
    for (const [kind, harm] of Object.entries(HARM)) await tryFault(kind, harm);
    expect(world.odd).toEqual([]);
  } finally {
    await world.close();
    await server.stop();
  }
}, 180_000);
