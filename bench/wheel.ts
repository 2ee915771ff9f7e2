import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { largest, median } from './report/statistics.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Bench, compare, type Variant } from './run/scenario.js';
import {
  HeapStore,
  Longest,
  NodeStore,
  type TimerStore,
  WheelStore,
} from './wheel/timer-stores.js';

interface StoreOf extends Variant {
  open(timers: number): TimerStore;
  /** Above it memory would run out. */
  timersMax: number;
}

const STORES: readonly StoreOf[] = [
  { title: 'wheel', open: (timers) => new WheelStore(timers), timersMax: 2 ** 24 },
  { title: '4-ary heap', open: (timers) => new HeapStore(timers), timersMax: Infinity },
  { title: 'setTimeout', open: (timers) => new NodeStore(timers), timersMax: 2_000_000 },
];

/** Small sizes are measured several times over: a millisecond of work says nothing. */
const TIMERS_PER_MEASUREMENT = 1_000_000;

const SPREAD_MS = 600_000;
const DENSE_PER_MS = 1_000;
/** The longest of so many `add` in a row is reported: growth is in one of them. */
const ADDED_PER_PIECE = 1_000;

interface Measurement {
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
}

const COLUMNS: readonly Column<Measurement>[] = [
  { title: 'add', of: ({ addNs }) => addNs },
  { title: 'cancel', of: ({ cancelNs }) => cancelNs },
  { title: 'again', of: ({ addAgainNs }) => addAgainNs },
  { title: 'fire', of: ({ fireSpreadNs }) => fireSpreadNs },
  { title: 'dense', of: ({ fireDenseNs }) => fireDenseNs },
  { title: 'bytes', of: ({ bytes }) => bytes },
  { title: 'longest ms', of: ({ longestMs }) => longestMs, digits: 2 },
  { title: 'alone ms', of: ({ undisturbedMs }) => undisturbedMs, digits: 2 },
  { title: 'adds ms', of: ({ longestAddsMs }) => longestAddsMs, digits: 2 },
  { title: 'adds alone ms', of: ({ undisturbedAddsMs }) => undisturbedAddsMs, digits: 2 },
];

/** Timers in memory: the wheel, a 4-ary heap and Node's `setTimeout`, from ten thousand to ten million that wait. */
export async function run(bench: Bench): Promise<Table[]> {
  const tables: Table[] = [];
  for (const timers of bench.settings.timers) {
    const variants = STORES.filter(({ timersMax }) => timers <= timersMax);
    let seed = 1;
    // For the compilers; it does not count.
    for (const store of variants) await measure(store, timers, seed);
    const table = await compare(bench, {
      name: `wheel ${timers}`,
      title: `${figure(timers)} timers in memory`,
      notes: [
        `ns per timer; deadlines at random over ${SPREAD_MS / 60_000} minutes`,
        'cancel: half of them in random order; again: the same half added once more',
        `fire: all of them, from one expiry to the next; dense: ${figure(DENSE_PER_MS)} due per ms`,
        'bytes: with the handles; longest: one advance of at most 1,024 expirations, for Node a turn',
        `adds: the longest ${figure(ADDED_PER_PIECE)} of them in a row, growth included`,
        'alone: the same without those during which the system let another process in',
      ],
      variants,
      measure: (store) => measure(store, timers, seed++),
      labels: { '': ({ title }) => title },
      columns: COLUMNS,
    });
    tables.push(table);
  }
  return tables;
}

async function measure(store: StoreOf, timers: number, seed: number): Promise<Measurement> {
  const runs: Measurement[] = [];
  for (let time = 0; time < Math.max(1, TIMERS_PER_MEASUREMENT / timers); time += 1) {
    runs.push(await measureOnce(store, timers, seed + time));
  }
  const sumUp = (key: keyof Measurement): [string, number] => {
    const values = runs.map((each) => each[key]);
    return [key, key.endsWith('Ms') ? largest(values) : median(values)];
  };
  const keys = Object.keys(runs[0]!) as (keyof Measurement)[];
  return Object.fromEntries(keys.map(sumUp)) as unknown as Measurement;
}

/** Once through: add all, cancel half, add them again, fire all; then fire as many that lie close. */
async function measureOnce(variant: StoreOf, timers: number, seed: number): Promise<Measurement> {
  const random = randomFrom(seed);
  const all = Int32Array.from({ length: timers }, (_, timer) => timer);
  const half = shuffled(all, random).slice(0, timers / 2);
  const spreadMs = Float64Array.from(all, () => 1 + random() * SPREAD_MS);
  const denseMs = Float64Array.from(all, () => 1 + (random() * timers) / DENSE_PER_MS);
  const emptyBytes = liveBytes();
  const store = variant.open(timers);
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
  const spread = store.fireSpread();
  collectGarbage();
  const dense = await store.fireDense(all, denseMs);
  return {
    addNs,
    cancelNs,
    addAgainNs,
    fireSpreadNs: ((spread?.totalMs ?? Number.NaN) * 1e6) / timers,
    fireDenseNs: (dense.totalMs * 1e6) / timers,
    bytes,
    longestMs: Math.max(spread?.longestMs ?? 0, dense.longestMs),
    undisturbedMs: Math.max(spread?.undisturbedMs ?? 0, dense.undisturbedMs),
    longestAddsMs: longestAdds.seenMs,
    undisturbedAddsMs: longestAdds.undisturbedMs,
  };
}

let collect: (() => void) | undefined;

/** V8's own collector, called between measurements so that none pays for another's garbage. */
function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    // A few collections in a row take functions for disused, and they would start cold each time.
    setFlagsFromString('--no-flush-bytecode');
    collect = runInNewContext('gc') as () => void;
  }
  // The second collection ends the first one's sweep, and takes what a finalizer let go.
  collect();
  collect();
}

/** Live bytes of the heap and of typed arrays. */
function liveBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
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
