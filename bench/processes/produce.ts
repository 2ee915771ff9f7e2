import { setTimeout as pause } from 'node:timers/promises';
import type { BenchProducer } from '../adapters/adapter.js';

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
