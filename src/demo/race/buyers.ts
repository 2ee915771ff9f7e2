import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { PlacedOrder } from '../../shop/orders/orders.schemas.js';
import type { PaymentReceipt } from '../../shop/payments/payments.schemas.js';
import type { LedgerOrder, LedgerPayment } from './ledger.js';
import type { PlannedOrder } from './plan.js';
import { RaceError } from './race-error.js';
import type { ServerClock } from './server-clock.js';
import { NoAnswer, type Answer, type ShopProcess } from './shop-process.js';

const PLACED_WITHIN_MS = 30_000;
/** A provider that waits this long repeats its report, and doubles its patience each time. */
const ANSWERED_WITHIN_MS = 2_000;
/** While no process is up a payment is repeated often. A timer of weeks would fire at once. */
const DOUBLED_TIMES_MAX = 5;
const ASKS_AGAIN_AFTER_MS = 50;
/** The provider repeats a report until this long after the deadline. */
const GIVES_UP_AFTER_MS = 30_000;
const WARM_UP_TRIPS = 20;
/** A buyer who waits longer than this for the shop can no longer aim at a deadline. */
const LEAD_MS_MAX = 500;

/** A payment in the database, and when it was captured. */
export interface Arrival {
  transaction: string;
  capturedAtMs: number;
}

/** The buyers, and the provider that reports their payments, over HTTP. */
export class Buyers {
  placed = 0;
  answered = 0;
  /** When each payment would arrive if it took no time. */
  readonly #startedAtMs = new Map<string, number>();
  #turn = 0;
  /** How long before its arrival a payment is sent. */
  #leadMs = 0;

  constructor(
    private readonly processes: readonly ShopProcess[],
    private readonly clock: ServerClock,
  ) {}

  /** A first estimate of how long a payment takes to reach the database. */
  async warmUp(): Promise<void> {
    const tripsMs: number[] = [];
    for (let trip = 0; trip < WARM_UP_TRIPS; trip += 1) {
      for (const process of this.processes) {
        const sentMs = performance.now();
        await process.get('/skus');
        tripsMs.push(performance.now() - sentMs);
      }
    }
    this.#leadMs = medianOf(tripsMs);
  }

  /** A better estimate, from recent payments. */
  learn(arrivals: readonly Arrival[]): void {
    const tookMs = arrivals.flatMap(({ transaction, capturedAtMs }) => {
      const startedAtMs = this.#startedAtMs.get(transaction);
      return startedAtMs === undefined ? [] : [capturedAtMs - startedAtMs];
    });
    if (tookMs.length > 0) this.#leadMs = Math.min(LEAD_MS_MAX, medianOf(tookMs));
  }

  async place({ home, items, payOffsetMs }: PlannedOrder): Promise<LedgerOrder> {
    const process = this.processes[home]!;
    const { status, body } = await process.post('/orders', { items }, PLACED_WITHIN_MS);
    if (status !== 201) throw new RaceError(`An order was refused: ${JSON.stringify(body)}`);
    this.placed += 1;
    const { id, total, payDeadline } = body as PlacedOrder;
    const payment: LedgerPayment | null =
      payOffsetMs === null
        ? null
        : { transaction: randomUUID(), amount: total, asked: 0, answer: null };
    return { id, total, payDeadlineMs: Date.parse(payDeadline), home, items, payment };
  }

  /**
   * Sends the payment so that it arrives `offsetMs` after the deadline, within what a client can
   * control.
   */
  async pay({ id, payDeadlineMs, payment }: LedgerOrder, offsetMs: number): Promise<void> {
    if (!payment) return;
    const { transaction, amount } = payment;
    const report = { orderId: id, provider: 'race', transaction, amount };
    const startMs = (): number => payDeadlineMs + offsetMs - this.#leadMs;
    await this.clock.reaches(startMs);
    this.#startedAtMs.set(transaction, startMs());
    while (this.clock.nowMs < payDeadlineMs + GIVES_UP_AFTER_MS) {
      const doubled = Math.min(payment.asked, DOUBLED_TIMES_MAX);
      const answer = await this.#report(report, ANSWERED_WITHIN_MS * 2 ** doubled);
      payment.asked += 1;
      if (answer?.status === 200) {
        payment.answer = answer.body as PaymentReceipt;
        this.answered += 1;
        return;
      }
      await pause(ASKS_AGAIN_AFTER_MS);
    }
  }

  /** To the processes that are up, in turn, like a load balancer. */
  async #report(report: object, withinMs: number): Promise<Answer | null> {
    const up = this.processes.filter(({ state }) => state === 'up');
    const process = up[this.#turn++ % up.length];
    if (!process) return null;
    try {
      return await process.post('/payments/callback', report, withinMs);
    } catch (error) {
      if (error instanceof NoAnswer) return null;
      throw error;
    }
  }
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
