import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { faketimeLibrary, offBy } from '../support/faketime.js';
import { Cluster } from './support/cluster.js';

const HOUR_MS = 3_600_000;
/** Far from an hour; how late exactly is the machine's business. */
const LATE_MS_MAX = HOUR_MS / 4;
const SHIFT = fileURLToPath(new URL('./fixtures/shift-clock.mjs', import.meta.url));

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

/** What the environment of a process needs for its wall clock to be off by `shiftMs`. */
const BY_PRELOAD = (shiftMs: number): Record<string, string> => ({
  NODE_OPTIONS: `--import=${SHIFT}`,
  CLOCK_SHIFT_MS: String(shiftMs),
});

const library = faketimeLibrary();
const BY_FAKETIME = (shiftMs: number): Record<string, string> => offBy(library ?? '', shiftMs);

/** How far from due the delays of a node fired whose clock is off by `shiftMs`. */
async function firedBy(env: Record<string, string>, shiftMs: number): Promise<number[]> {
  const worker = await cluster.worker('off', { serves: { 'test.timed': { does: 'note' } } }, env);
  for (const afterMs of [0, 100, 700, 1_500]) {
    const key = String(afterMs);
    worker.send({ schedule: { name: 'test.timed', key, afterMs } });
    const { dueAtMs, nowMs } = await worker.waitFor(({ scheduled }) => scheduled === key);
    // The fixture's clock is really off, and due is the database's all the same.
    expect(Math.abs(nowMs! - Date.now() - shiftMs)).toBeLessThan(LATE_MS_MAX);
    expect(Math.abs(dueAtMs! - Date.now())).toBeLessThan(LATE_MS_MAX);
  }
  await cluster.quiet();
  const ledger = await cluster.ledger();
  expect(ledger).toHaveLength(4);
  return ledger.flatMap((line) => [line.late_ms, line.lateness_ms]);
}

const SHIFTS = [
  ['ahead', HOUR_MS],
  ['behind', -HOUR_MS],
] as const;

describe('a node whose wall clock is an hour off', () => {
  it.each(SHIFTS)('%s (Date shifted): nothing early, nothing late by it', async (_, shiftMs) => {
    const lateMs = await firedBy(BY_PRELOAD(shiftMs), shiftMs);
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lateMs)).toBeLessThan(LATE_MS_MAX);
  });
});

if (library === undefined) {
  process.stderr.write('\nSKIPPED: clocks under `faketime`; the command is not installed\n');
}
(library === undefined ? describe.skip : describe)('the same under faketime', () => {
  it.each(SHIFTS)('%s: nothing early, nothing late by it', async (_, shiftMs) => {
    const lateMs = await firedBy(BY_FAKETIME(shiftMs), shiftMs);
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lateMs)).toBeLessThan(LATE_MS_MAX);
  });
});
