import { setTimeout as pause } from 'node:timers/promises';
import type { BenchProducer } from '../adapters/adapter.js';
import { cpuSecondsOf, ownCpuTime } from '../server/process-cpu.js';
import { type Call, CALLS, type CallOrder, type Called } from './protocol.js';

export const callsOf = (producer: BenchProducer): Call[] =>
  CALLS.filter((each) => producer[each] !== undefined);

/**
 * Calls the producer about each delay, with so many calls waiting for their answers at any moment, as
 * the requests of a busy application do.
 *
 * @throws when the producer has no such call
 */
export async function call(producer: BenchProducer, order: CallOrder): Promise<Called> {
  const callOnce = callerOf(producer, order);
  const calls = Math.ceil(order.count / sizeOf(order));
  const cpuAtStart = ownCpuTime();
  const startedAtMs = performance.now();
  let [next, found] = [0, 0];
  const caller = async (): Promise<void> => {
    while (next < calls) {
      const index = next;
      next += 1;
      if (await callOnce(index)) found += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(order.inFlight, calls) }, caller));
  const elapsedMs = performance.now() - startedAtMs;
  return { type: 'called', elapsedMs, cpuSeconds: cpuSecondsOf(ownCpuTime(cpuAtStart)), found };
}

const sizeOf = ({ call: called, size }: CallOrder): number =>
  called === 'scheduleMany' ? size : 1;

/** @returns what makes the call of that index, and answers whether a cancel found its delay */
function callerOf(
  producer: BenchProducer,
  { call: called, first, count, size, dueInMs }: CallOrder,
): (index: number) => Promise<boolean> {
  if (!callsOf(producer).includes(called)) throw new Error(`the producer has no '${called}'`);
  const callers: Record<Call, (index: number) => Promise<boolean>> = {
    schedule: async (index) => {
      await producer.schedule(first + index, dueInMs);
      return false;
    },
    scheduleMany: async (index) => {
      const done = index * size;
      await producer.scheduleMany?.(first + done, Math.min(size, count - done), dueInMs);
      return false;
    },
    cancel: async (index) => (await producer.cancel?.(first + index)) === true,
    cancelInTransaction: async (index) =>
      (await producer.cancelInTransaction?.(first + index)) === true,
  };
  return callers[called];
}

/** Due 1 to 3 s ahead: far enough to be planned, near enough that every system must hear of it. */
const DUE_FROM_MS = 1_000;
const DUE_SPREAD_MS = 2_000;

/** Coprime to the spread: neighbours are due far apart, and each instant equally often. */
const STRIDE = 1_237;

const TICK_MS = 2;

/**
 * Schedules delays 0 … count - 1 one by one at a steady pace, without waiting for answers, as many
 * requests of an application do.
 *
 * @returns milliseconds from the first call to the last answer
 */
export async function produce(
  producer: BenchProducer,
  count: number,
  ratePerSecond: number,
): Promise<number> {
  const startedAtMs = performance.now();
  const answers: Promise<void>[] = [];
  while (answers.length < count) {
    const elapsedMs = performance.now() - startedAtMs;
    const wanted = Math.min(count, Math.floor((elapsedMs * ratePerSecond) / 1_000) + 1);
    while (answers.length < wanted) {
      const n = answers.length;
      answers.push(producer.schedule(n, DUE_FROM_MS + ((n * STRIDE) % DUE_SPREAD_MS)));
    }
    await pause(TICK_MS);
  }
  await Promise.all(answers);
  return performance.now() - startedAtMs;
}
