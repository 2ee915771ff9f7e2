import type { Closer, RaceOptions } from './command-line.js';
import { randomOf, type Random } from '../../random.js';

/** What the race sells, as many of each as it takes. */
export const RACE_SKUS = Array.from({ length: 40 }, (_, index) => `RACE-${index + 101}`);
export const PRICE_CENTS = 1_000;

export interface PlannedOrder {
  /** The process that is asked to place it, counted from 0. */
  home: number;
  items: { sku: string; quantity: number }[];
  /** After the first one. */
  placeAfterMs: number;
  /** When its payment is to arrive, from its deadline; `null`: it is not paid. */
  payOffsetMs: number | null;
}

/** A process, and when it is hit, from the first deadline. */
export interface PlannedFault {
  process: number;
  afterMs: number;
}

/** Everything that is left to chance, chosen before the race begins. */
export interface Plan {
  closer: Closer;
  processes: number;
  orders: PlannedOrder[];
  /** Between the first and the last deadline. */
  windowMs: number;
  /** Longer than the window: the last order is placed before the first one closes. */
  payWithinMs: number;
  pause: PlannedFault & { forMs: number };
  kill: PlannedFault;
  /** When the scan of `--cron` comes, from the first deadline. */
  scanAfterMs: number;
}

/** Short, because the race waits for it; a shop keeps the default of 30 s. */
export const LEASE_MS = 4_000;
/** Longer than a lease: what the process had claimed is another's when it comes back. */
const PAUSE_MS = 5_000;

const WINDOW_MS_MIN = 8_000;
const PAYMENTS_PER_SECOND_MAX = 62.5;
const PLACING_SLACK_MS = 1_500;
/** Payments arrive at most so long before or after the deadline, as far as a client can choose. */
const OFFSET_MS_MAX = 8;
/** One order in so many is not paid at all. */
const ABANDONED_EVERY = 6;

export function planOf({ closer, orders, processes, seed }: RaceOptions): Plan {
  const random = randomOf(seed);
  const windowMs = Math.max(WINDOW_MS_MIN, (orders / PAYMENTS_PER_SECOND_MAX) * 1_000);
  const [paused, killed] = random.shuffled(Array.from({ length: processes }, (_, index) => index));
  // Of two processes one is there at any time; of more, the others bear both faults at once.
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
      // Turn by turn: each process has some of either kind. The killed one has something to do to the end.
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
