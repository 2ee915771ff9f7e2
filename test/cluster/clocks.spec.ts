import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { Cluster, KEEPS_LEASES } from './support/cluster.js';

/** The library that the command `faketime` preloads; undefined where it is not installed. */
function faketimeLibrary(): string | undefined {
  const { stdout } = spawnSync('faketime', ['-f', '+0s', 'printenv', 'LD_PRELOAD'], {
    encoding: 'utf8',
  });
  return stdout?.trim().split(':').at(-1) || undefined;
}

/** The environment of a process whose wall clock is off by that much, and its monotonic one is not. */
const offBy = (library: string, shiftMs: number): Record<string, string> => ({
  LD_PRELOAD: library,
  FAKETIME: `${shiftMs > 0 ? '+' : ''}${shiftMs / 1_000}s`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  // Else it fakes the end of every timed wait on a condition, and `Atomics.wait` spins until its own.
  FAKETIME_FORCE_MONOTONIC_FIX: '0',
});

const HOUR_MS = 3_600_000;
/** Far from an hour; how late exactly is the machine's business. */
const LATE_MS_MAX = HOUR_MS / 4;
const SHIFT = fileURLToPath(new URL('./fixtures/shift-clock.mjs', import.meta.url));

const cluster = new Cluster();
const library = faketimeLibrary();
if (library === undefined) {
  process.stderr.write('\nSKIPPED: clocks under `faketime`; the command is not installed\n');
}

/** What the environment of a process needs for its wall clock to be off by so much. */
const WAYS: [way: string, envOf: (shiftMs: number) => Record<string, string>][] = [
  [
    'Date alone',
    (shiftMs) => ({ NODE_OPTIONS: `--import=${SHIFT}`, CLOCK_SHIFT_MS: String(shiftMs) }),
  ],
];
if (library !== undefined) WAYS.push(['faketime', (shiftMs) => offBy(library, shiftMs)]);

/** A node of that clock fires what it schedules itself. */
async function fires(name: `test.${string}`, shiftMs: number, env: Record<string, string>) {
  const worker = await cluster.worker(name, { [name]: { does: 'note' } }, KEEPS_LEASES, env);
  for (const afterMs of [0, 700]) {
    const key = String(afterMs);
    worker.send({ schedule: { name, key, afterMs } });
    const { dueAtMs, nowMs } = await worker.waitFor(({ scheduled }) => scheduled === key);
    // The worker's clock is really off, and due is the database's all the same.
    expect(Math.abs(nowMs! - Date.now() - shiftMs)).toBeLessThan(LATE_MS_MAX);
    expect(Math.abs(dueAtMs! - Date.now())).toBeLessThan(LATE_MS_MAX);
  }
}

it.each(WAYS)(
  'nodes whose wall clocks are an hour ahead and behind (%s): nothing early, nothing late by it',
  async (_, envOf) => {
    await Promise.all([
      fires('test.ahead', HOUR_MS, envOf(HOUR_MS)),
      fires('test.behind', -HOUR_MS, envOf(-HOUR_MS)),
    ]);
    await cluster.quiet();
    const ledger = await cluster.ledger();
    expect(ledger).toHaveLength(4);
    const lateMs = ledger.flatMap((line) => [line.late_ms, line.lateness_ms]);
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lateMs)).toBeLessThan(LATE_MS_MAX);
  },
);
