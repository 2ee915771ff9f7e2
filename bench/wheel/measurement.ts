import { collectGarbage, GcPauses, liveBytes } from './gc-pauses.js';
import { Longest } from './longest.js';
import type { Netty } from './netty.js';
import type { TimerStore } from './timer-stores.js';

export interface Variant {
  title: string;
  /** Without it: Netty, which does the same in a process of its own. */
  open?(timers: number): TimerStore;
  /** Above it memory would run out. */
  timersMax: number;
}

export interface Measurement {
  addNs: number;
  cancelNs: number;
  addAgainNs: number;
  fireSpreadNs: number;
  fireDenseNs: number;
  bytes: number;
  longestMs: number;
  undisturbedMs: number;
  longestAddsMs: number;
  undisturbedAddsMs: number;
  gcTotalMs: number;
  gcLongestMs: number;
}

export const SPREAD_MS = 600_000;
export const DENSE_PER_MS = 1_000;
/** The longest of so many `add` in a row is reported: growth is in one of them. */
export const ADDED_PER_PIECE = 1_000;

/** What cannot be seen from outside a Java process, or stands still while it fires. */
const UNMEASURED = {
  fireSpreadNs: Number.NaN,
  longestMs: Number.NaN,
  undisturbedMs: Number.NaN,
  longestAddsMs: Number.NaN,
  undisturbedAddsMs: Number.NaN,
  gcTotalMs: Number.NaN,
  gcLongestMs: Number.NaN,
};

/** Once through: add all, cancel half, add them again, fire all; then fire as many that lie close. */
export async function measureOnce(
  variant: Variant,
  netty: Netty | undefined,
  timers: number,
  seed: number,
): Promise<Measurement> {
  const random = randomFrom(seed);
  const all = Int32Array.from({ length: timers }, (_, timer) => timer);
  const half = shuffled(all, random).slice(0, timers / 2);
  const spreadMs = Float64Array.from(all, () => 1 + random() * SPREAD_MS);
  const denseMs = Float64Array.from(all, () => 1 + (random() * timers) / DENSE_PER_MS);
  if (variant.open === undefined) {
    if (netty === undefined) throw new Error('Netty was not opened');
    return { ...UNMEASURED, ...(await netty.measure(spreadMs, denseMs, half)) };
  }

  const gc = new GcPauses();
  const emptyBytes = liveBytes();
  const store = variant.open(timers);
  gc.start();
  const longestAdds = new Longest();
  const addNs = nsPer(timers, () => {
    for (let from = 0; from < timers; from += ADDED_PER_PIECE) {
      const startMs = performance.now();
      store.addAll(all.subarray(from, from + ADDED_PER_PIECE), spreadMs);
      longestAdds.add(performance.now() - startMs);
    }
  });
  const bytes = (liveBytes() - emptyBytes) / timers;
  const cancelNs = nsPer(half.length, () => store.cancelAll(half));
  const addAgainNs = nsPer(half.length, () => store.addAll(half, spreadMs));
  const spreadFiring = store.fireSpread();
  collectGarbage();
  const dense = await store.fireDense(all, denseMs);
  await gc.stop();
  return {
    addNs,
    cancelNs,
    addAgainNs,
    fireSpreadNs: ((spreadFiring?.totalMs ?? Number.NaN) * 1e6) / timers,
    fireDenseNs: (dense.totalMs * 1e6) / timers,
    bytes,
    longestMs: Math.max(spreadFiring?.longestMs ?? 0, dense.longestMs),
    undisturbedMs: Math.max(spreadFiring?.undisturbedMs ?? 0, dense.undisturbedMs),
    longestAddsMs: longestAdds.seenMs,
    undisturbedAddsMs: longestAdds.undisturbedMs,
    gcTotalMs: gc.totalMs,
    gcLongestMs: gc.longestMs,
  };
}

function nsPer(timers: number, work: () => void): number {
  const startMs = performance.now();
  work();
  return ((performance.now() - startMs) * 1e6) / timers;
}

function shuffled(numbers: Int32Array, random: () => number): Int32Array {
  const result = numbers.slice();
  for (let at = result.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [result[at], result[other]] = [result[other]!, result[at]!];
  }
  return result;
}

/** The same numbers in every run (a linear congruential generator, Numerical Recipes). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
