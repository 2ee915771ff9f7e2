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
import {
  ADDED_PER_PIECE,
  DENSE_PER_MS,
  type Measurement,
  measureOnce,
  SPREAD_MS,
  type Variant,
} from './wheel/measurement.js';
import { Netty, NETTY_MISSING } from './wheel/netty.js';
import { ratiosOf } from './wheel/ratios.js';
import { HeapStore, NodeStore, WheelStore } from './wheel/timer-stores.js';

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
    undisturbedMs: most('undisturbedMs'),
    longestAddsMs: most('longestAddsMs'),
    undisturbedAddsMs: most('undisturbedAddsMs'),
    gcTotalMs: middle('gcTotalMs'),
    gcLongestMs: most('gcLongestMs'),
  };
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
      `adds: the longest ${figure(ADDED_PER_PIECE)} of them in a row, growth included;`,
      'alone: the same without those during which the system let another process in.',
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
      'alone ms',
      'adds ms',
      'alone ms',
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
        spread(of('undisturbedMs'), 2),
        spread(of('longestAddsMs'), 2),
        spread(of('undisturbedAddsMs'), 2),
        spread(of('gcTotalMs'), 1),
        figure(largest(of('gcLongestMs')), 1),
      ];
    }),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({
    options: {
      timers: { type: 'string', default: TIMERS.join() },
      rounds: { type: 'string', default: '5' },
    },
  });
  const facts = await machineFacts();
  const tables = await run(
    { settings: { rounds: Number(values.rounds) }, progress: (line) => console.error(line) },
    values.timers.split(',').map(Number),
  );
  console.log([facts.join('\n'), ...tables.map(render)].join('\n\n'));
}
