import type { Adapter } from '../adapters/adapter.js';
import { adaptersLike } from '../adapters/adapters.js';
import { BenchProcess } from '../processes/bench-process.js';
import type { Call, CallOrder } from '../processes/protocol.js';
import { type Column, figure, type Table } from '../report/table.js';
import { type Bench, compare } from '../run/scenario.js';
import type { Site } from './site.js';

/** What one system's answers to many calls cost; each figure is for one delay. */
export interface Calling {
  perSecond: number;
  producerMicros: number;
  serverMicros: number;
  walBytes: number;
  /** Delays of which the answer, or what stands in the table afterwards, is not what it should be. */
  wrong: number;
}

/** Due long after the measurement. */
const FAR_MS = 86_400_000;

/** Calls before the measured ones: connections are opened and code is compiled. */
export const WARM_UP = 1_000;

/** A busy machine may be slow. */
const CALLS_WITHIN_MS = 600_000;

const COLUMNS: readonly Column<Calling | undefined>[] = [
  { title: 'per second', of: (calling) => calling?.perSecond ?? Number.NaN },
  { title: 'producer µs each', of: (calling) => calling?.producerMicros ?? Number.NaN, digits: 1 },
  { title: 'server µs each', of: (calling) => calling?.serverMicros ?? Number.NaN, digits: 1 },
  { title: 'WAL bytes each', of: (calling) => calling?.walBytes ?? Number.NaN },
];

/** Ways to make the same calls, each to be tried on every system. */
interface CallingComparison<Way> {
  name: string;
  title: string;
  notes: readonly string[];
  /** What the ways differ in: the head of their column. */
  column: string;
  ways: readonly Way[];
  shown: (way: Way) => string;
  /** Answers nothing when the system cannot. */
  measure: (adapter: Adapter, way: Way) => Promise<Calling | undefined>;
}

/** Measures them in turn: a row for each way on each system. */
export function callingTable<Way>(
  bench: Bench,
  { name, title, notes, column, ways, shown, measure }: CallingComparison<Way>,
): Promise<Table> {
  const adapters = adaptersLike(bench.settings.systems);
  return compare(bench, {
    name,
    title,
    notes: [...notes, ...adapters.map(({ settings }) => settings)],
    variants: ways.flatMap((way) =>
      adapters.map((adapter) => ({
        title: `${adapter.name} · ${column} ${shown(way)}`,
        adapter,
        way,
      })),
    ),
    measure: ({ adapter, way }) => measure(adapter, way),
    labels: { system: ({ adapter }) => adapter.name, [column]: ({ way }) => shown(way) },
    columns: COLUMNS,
    sums: {
      wrong: (callings) =>
        callings.some((calling) => calling === undefined)
          ? 'cannot'
          : figure(callings.reduce((sum, calling) => sum + (calling?.wrong ?? 0), 0)),
    },
  });
}

/**
 * Opens a producer for `work`.
 *
 * @returns what `work` returns; nothing when the producer lacks one of the calls
 */
export async function withProducer<Result>(
  adapter: Adapter,
  url: string,
  needed: readonly Call[],
  work: (producer: BenchProcess) => Promise<Result>,
): Promise<Result | undefined> {
  const producer = await BenchProcess.open({ role: 'producer', system: adapter.name, url });
  const result = needed.every((each) => producer.calls.includes(each))
    ? await work(producer)
    : undefined;
  await producer.stop();
  return result;
}

/** The order without what a single call does not need. */
export function callOrder(
  { settings }: Bench,
  order: Pick<CallOrder, 'call' | 'first' | 'count'> & Partial<CallOrder>,
): CallOrder {
  return { type: 'call', inFlight: settings.inFlight, size: 1, dueInMs: FAR_MS, ...order };
}

/** @returns how many cancels found their delay */
export async function carryOut(producer: BenchProcess, order: CallOrder): Promise<number> {
  return (await producer.ask(order, 'called', CALLS_WITHIN_MS)).found;
}

/** Lets the producer do it, and measures both sides. */
export async function measureCalls(
  site: Site,
  producer: BenchProcess,
  order: CallOrder,
): Promise<Omit<Calling, 'wrong'> & { found: number }> {
  await site.begin();
  const { elapsedMs, cpuSeconds, found } = await producer.ask(order, 'called', CALLS_WITHIN_MS);
  const done = await site.done();
  return {
    perSecond: order.count / (elapsedMs / 1_000),
    producerMicros: (cpuSeconds * 1e6) / order.count,
    serverMicros: (done.cpuSeconds * 1e6) / order.count,
    walBytes: done.walBytes / order.count,
    found,
  };
}
