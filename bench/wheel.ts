/**
 * Timers in memory: the wheel, a 4-ary heap, Node's `setTimeout` and, where there is Java, Netty's
 * HashedWheelTimer, from ten thousand to ten million that wait.
 *
 * ```
 * npm run bench -- wheel
 * node --import ./tools/swc-loader.mjs bench/wheel.ts --timers 1000000,10000000 --rounds 3
 * ```
 */
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { machineFacts } from './report/machine.js';
import { largest, median } from './report/statistics.js';
import { figure, render, spread, type Table } from './report/table.js';
import { collectGarbage, GcPauses, liveBytes } from './wheel/gc-pauses.js';
import { Netty, NETTY_MISSING } from './wheel/netty.js';
import { ratiosOf } from './wheel/ratios.js';
import { HeapStore, NodeStore, type TimerStore, WheelStore } from './wheel/timer-stores.js';

interface Variant {
  title: string;
  /** Without it: Netty, which does the same in a process of its own. */
  open?(timers: number): TimerStore;
  /** Above it memory would run out. */
  timersMax: number;
}

interface Measurement {
  addNs: number;
  cancelNs: number;
  addAgainNs: number;
  fireSpreadNs: number;
  fireDenseNs: number;
  bytes: number;
  longestMs: number;
  longestAddMs: number;
  gcTotalMs: number;
  gcLongestMs: number;
}

/** What `npm run bench` hands over; the command line of this file alone makes the same. */
interface WheelBench {
  settings: { rounds: number };
  progress(line: string): void;
}

const VARIANTS: readonly Variant[] = [
  { title: 'wheel', open: (timers) => new WheelStore(timers), timersMax: 2 ** 24 },
  { title: '4-ary heap', open: (timers) => new HeapStore(timers), timersMax: Infinity },
  { title: 'setTimeout', open: (timers) => new NodeStore(timers), timersMax: 2_000_000 },
];
const NETTY: Variant = { title: 'Netty', timersMax: 2_000_000 };

const TIMERS = [10_000, 100_000, 1_000_000, 10_000_000];
/** Small sizes are measured several times over: a millisecond of work says nothing. */
const TIMERS_PER_MEASUREMENT = 1_000_000;
/** Netty fires in real time, so there it has to be fewer. */
const RUNS_OF_NETTY_MAX = 5;

/** Netty has a thread and a clock of its own, so not everything can be compared. */
const NETTY_NOTES = [
  'Netty: ticks of 1 ms, 4,096 slots, the same deadlines. add and cancel: what the caller waits,',
  'which is to queue it for the worker thread; sorting into slots and unlinking come on top there.',
  'dense: CPU time of the worker, ticks without timers included; fire would take ten real minutes.',
];

const SPREAD_MS = 600_000;
const DENSE_PER_MS = 1_000;
/** The longest of so many `add` in a row is reported: growth is in one of them. */
const ADDED_PER_PIECE = 1_000;

/** What cannot be seen from outside a Java process, or stands still while it fires. */
const UNMEASURED = {
  fireSpreadNs: Number.NaN,
  longestMs: Number.NaN,
  longestAddMs: Number.NaN,
  gcTotalMs: Number.NaN,
  gcLongestMs: Number.NaN,
};

export async function run(bench: WheelBench, sizes: readonly number[] = TIMERS): Promise<Table[]> {
  const netty = await Netty.open();
  if (netty === undefined) bench.progress(NETTY_MISSING);
  const tables: Table[] = [];
  try {
    for (const timers of sizes) {
      const all = netty === undefined ? VARIANTS : [...VARIANTS, NETTY];
      const variants = all.filter(({ timersMax }) => timers <= timersMax);
      const results = variants.map((variant) => ({ variant, rounds: [] as Measurement[] }));
      // Round 0 is for the compilers and does not count.
      for (let round = 0; round <= bench.settings.rounds; round++) {
        for (const { variant, rounds } of results) {
          const measurement = await measure(variant, netty, timers, round + 1);
          if (round > 0) rounds.push(measurement);
          bench.progress(
            `${figure(timers)} timers · round ${round}/${bench.settings.rounds} · ` +
              `${variant.title}: add ${figure(measurement.addNs)} ns, ` +
              `cancel ${figure(measurement.cancelNs)} ns, ` +
              `fire ${figure(measurement.fireSpreadNs)} ns, dense ${figure(measurement.fireDenseNs)} ns`,
          );
        }
      }
      tables.push(tableOf(timers, results, netty === undefined), ratiosOf(timers, results));
    }
  } finally {
    netty?.close();
  }
  return tables;
}

async function measure(
  variant: Variant,
  netty: Netty | undefined,
  timers: number,
  seed: number,
): Promise<Measurement> {
  const runs: Measurement[] = [];
  const times = Math.max(1, TIMERS_PER_MEASUREMENT / timers);
  const timesMax = variant.open === undefined ? RUNS_OF_NETTY_MAX : times;
  for (let time = 0; time < Math.min(times, timesMax); time++) {
    runs.push(await measureOnce(variant, netty, timers, seed + time));
  }
  const middle = (key: keyof Measurement) => median(runs.map((each) => each[key]));
  const most = (key: keyof Measurement) => largest(runs.map((each) => each[key]));
  return {
    addNs: middle('addNs'),
    cancelNs: middle('cancelNs'),
    addAgainNs: middle('addAgainNs'),
    fireSpreadNs: middle('fireSpreadNs'),
    fireDenseNs: middle('fireDenseNs'),
    bytes: middle('bytes'),
    longestMs: most('longestMs'),
    longestAddMs: most('longestAddMs'),
    gcTotalMs: middle('gcTotalMs'),
    gcLongestMs: most('gcLongestMs'),
  };
}

async function measureOnce(
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
  let longestAddMs = 0;
  const addNs = nsPer(timers, () => {
    for (let from = 0; from < timers; from += ADDED_PER_PIECE) {
      const startMs = performance.now();
      store.addAll(all.subarray(from, from + ADDED_PER_PIECE), spreadMs);
      longestAddMs = Math.max(longestAddMs, performance.now() - startMs);
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
    longestAddMs,
    gcTotalMs: gc.totalMs,
    gcLongestMs: gc.longestMs,
  };
}

function nsPer(timers: number, work: () => void): number {
  const startMs = performance.now();
  work();
  return ((performance.now() - startMs) * 1e6) / timers;
}

function tableOf(
  timers: number,
  results: { variant: Variant; rounds: Measurement[] }[],
  isNettyMissing: boolean,
): Table {
  return {
    title: `${figure(timers)} timers in memory`,
    notes: [
      `median (range); ns per timer. Deadlines at random over ${SPREAD_MS / 60_000} minutes;`,
      `cancel: half of them in random order; again: the same half added once more;`,
      `fire: all of them, from one expiry to the next; dense: ${figure(DENSE_PER_MS)} due per ms;`,
      'bytes: with the handles; longest: one advance of at most 1,024 expirations, for Node a turn;',
      `adds: the longest ${figure(ADDED_PER_PIECE)} of them in a row, growth included.`,
      ...(isNettyMissing ? [NETTY_MISSING] : NETTY_NOTES),
    ],
    columns: [
      '',
      'add',
      'cancel',
      'again',
      'fire',
      'dense',
      'bytes',
      'longest ms',
      'adds ms',
      'gc ms',
      'gc max',
    ],
    rows: results.map(({ variant, rounds }) => {
      const of = (key: keyof Measurement) => rounds.map((measurement) => measurement[key]);
      return [
        variant.title,
        spread(of('addNs')),
        spread(of('cancelNs')),
        spread(of('addAgainNs')),
        spread(of('fireSpreadNs')),
        spread(of('fireDenseNs')),
        spread(of('bytes')),
        spread(of('longestMs'), 2),
        spread(of('longestAddMs'), 2),
        spread(of('gcTotalMs'), 1),
        figure(largest(of('gcLongestMs')), 1),
      ];
    }),
  };
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({
    options: {
      timers: { type: 'string', default: TIMERS.join() },
      rounds: { type: 'string', default: '5' },
    },
  });
  const tables = await run(
    { settings: { rounds: Number(values.rounds) }, progress: (line) => console.error(line) },
    values.timers.split(',').map(Number),
  );
  console.log([machineFacts().join('\n'), ...tables.map(render)].join('\n\n'));
}
