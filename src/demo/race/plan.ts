import type { Closer, RaceOptions } from './command-line.js';
import { randomOf, type Random } from '../../random.js';

export const RACE_SKUS = Array.from({ length: 40 }, (_, index) => `RACE-${index + 101}`);
export const PRICE_CENTS = 1_000;

export interface PlannedOrder {
  /** The process that is asked to place it, counted from 0. */
  home: number;
  items: { sku: string; quantity: number }[];
  /** Time after the first order. */
  placeAfterMs: number;
  /** When its payment arrives, relative to its deadline; `null`: it is not paid. */
  payOffsetMs: number | null;
}

/** A process, and when it is hit after the first deadline. */
export interface PlannedFault {
  process: number;
  afterMs: number;
}

/** Every random choice, made before the race begins. */
export interface Plan {
  closer: Closer;
  processes: number;
  orders: PlannedOrder[];
  /** Time between the first and the last deadline. */
  windowMs: number;
  /** Longer than the window: the last order is placed before the first one closes. */
  payWithinMs: number;
  pause: PlannedFault & { forMs: number };
  kill: PlannedFault;
  /** When the scan of `--cron` runs, after the first deadline. */
  scanAfterMs: number;
}

/** Short, because the race waits for it. A shop keeps the default of 30 s. */
export const LEASE_MS = 4_000;
/** Longer than a lease: when the process comes back, its claims belong to another one. */
const PAUSE_MS = 5_000;

const WINDOW_MS_MIN = 8_000;
const PAYMENTS_PER_SECOND_MAX = 62.5;
const PLACING_SLACK_MS = 1_500;
/**
 * Payments arrive at most this long before or after the deadline, within what a client can control.
 */
const OFFSET_MS_MAX = 8;
/** One in this many orders is not paid. */
const ABANDONED_EVERY = 6;

export function planOf({ closer, orders, processes, seed }: RaceOptions): Plan {
  const random = randomOf(seed);
  const windowMs = Math.max(WINDOW_MS_MIN, (orders / PAYMENTS_PER_SECOND_MAX) * 1_000);
  const [paused, killed] = random.shuffled(Array.from({ length: processes }, (_, index) => index));
  // Of two processes, one is always up. With more, the others have to bear both faults at once.
  const killedAt = processes === 2 ? random.between(0.8, 0.84) : random.between(0.4, 0.5);
  return {
    closer,
    processes,
    orders: ordersOf(random, { paid: orders, processes, windowMs, killed: killed! }),
    windowMs,
    payWithinMs: Math.round(windowMs + PLACING_SLACK_MS),
    pause: { process: paused!, afterMs: windowMs * random.between(0.1, 0.14), forMs: PAUSE_MS },
    kill: { process: killed!, afterMs: windowMs * killedAt },
    scanAfterMs: windowMs * 0.95,
  };
}

interface Sizes {
  paid: number;
  processes: number;
  windowMs: number;
  killed: number;
}

function ordersOf(random: Random, { paid, processes, windowMs, killed }: Sizes): PlannedOrder[] {
  const offsets = random.shuffled(
    Array.from({ length: paid }, (_, index) =>
      index % 2 === 0 ? -random.between(0, OFFSET_MS_MAX) : random.between(0, OFFSET_MS_MAX),
    ),
  );
  const count = paid + Math.ceil(paid / (ABANDONED_EVERY - 1));
  const next = { paid: 0, abandoned: 0 };
  return Array.from({ length: count }, (_, index) => {
    const isLast = index === count - 1;
    const isAbandoned = isLast || index % ABANDONED_EVERY === ABANDONED_EVERY - 1;
    const turn = isAbandoned ? next.abandoned++ : next.paid++;
    return {
      // Round robin, so that each process has some of either kind; the killed one has work until
      // the end.
      home: isLast ? killed : turn % processes,
      items: itemsOf(random),
      placeAfterMs: (windowMs / count) * (index + random.between(0, 1)),
      payOffsetMs: isAbandoned ? null : offsets[turn]!,
    };
  });
}

function itemsOf(random: Random): PlannedOrder['items'] {
  const skus = random.shuffled(RACE_SKUS).slice(0, random.integer(1, 2));
  return skus.toSorted().map((sku) => ({ sku, quantity: random.integer(1, 3) }));
}
