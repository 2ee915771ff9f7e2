import type { Adapter } from './adapters/adapter.js';
import type { Bench } from './bench.js';
import { BenchProcess } from './processes/bench-process.js';
import type { Call, CallOrder } from './processes/protocol.js';
import { cellsOf, figure, type Cell, type Column } from './report/table.js';
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
export const FAR_MS = 86_400_000;

/** Calls before the measured ones: connections are opened and code is compiled. */
export const WARM_UP = 1_000;

/** A busy machine may be slow. */
const CALLS_WITHIN_MS = 600_000;

const COLUMNS: readonly Column<Calling>[] = [
  { title: 'per second', of: (calling) => calling.perSecond },
  { title: 'producer µs each', of: (calling) => calling.producerMicros, digits: 1 },
  { title: 'server µs each', of: (calling) => calling.serverMicros, digits: 1 },
  { title: 'WAL bytes each', of: (calling) => calling.walBytes },
];

export const CALLING_COLUMNS = [...COLUMNS.map(({ title }) => title), 'wrong'];

/** @param callings those of one row; empty when the system has no such call */
export function callingCells(callings: readonly Calling[]): Cell[] {
  if (callings.length === 0)
    return CALLING_COLUMNS.map((_, index) => (index === 0 ? 'cannot' : '–'));
  return [...cellsOf(COLUMNS, callings), figure(sum(callings.map(({ wrong }) => wrong)))];
}

export const shownCalling = (calling: Calling | undefined): string =>
  calling === undefined
    ? 'cannot'
    : `${figure(calling.perSecond)}/s, server ${figure(calling.serverMicros, 1)} µs each, ` +
      `wrong ${figure(calling.wrong)}`;

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

/** Lets the producer do it and takes the measure of everybody. */
export async function measureCalls(
  site: Site,
  producer: BenchProcess,
  order: CallOrder,
): Promise<Omit<Calling, 'wrong'> & { found: number }> {
  await site.begin();
  const { elapsedMs, cpuSeconds, found } = await producer.ask(order, 'called', CALLS_WITHIN_MS);
  const done = await site.done();
  const each = (total: number): number => total / order.count;
  return {
    perSecond: order.count / (elapsedMs / 1_000),
    producerMicros: each(cpuSeconds * 1e6),
    serverMicros: each(done.cpuSeconds * 1e6),
    walBytes: each(done.walBytes),
    found,
  };
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
