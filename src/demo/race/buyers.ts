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
/** A provider asks again when it has waited so long, and is twice as patient every time. */
const ANSWERED_WITHIN_MS = 2_000;
/** While no process is up a payment is asked for in vain, often; a timer of weeks would fire at once. */
const DOUBLED_TIMES_MAX = 5;
const ASKS_AGAIN_AFTER_MS = 50;
/** It asks until then, from the deadline. */
const GIVES_UP_AFTER_MS = 30_000;
const WARM_UP_TRIPS = 20;
/** A buyer who waits longer than this for the shop cannot aim at a deadline any more. */
const LEAD_MS_MAX = 500;

/** A payment that the database has, and since when. */
export interface Arrival {
  transaction: string;
  capturedAtMs: number;
}

/** Those who order, and the provider that reports their money, over HTTP. */
export class Buyers {
  placed = 0;
  answered = 0;
  /** When each payment would arrive if it took no time at all. */
  readonly #startedAtMs = new Map<string, number>();
  #turn = 0;
  /** So long before it is to arrive a payment is sent. */
  #leadMs = 0;

  constructor(
    private readonly processes: readonly ShopProcess[],
    private readonly clock: ServerClock,
  ) {}

  /** A first guess at how long a payment takes to the database. */
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

  /** A better one, from payments that have arrived of late. */
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

  /** So that it arrives so long after the deadline, as far as a client can choose. */
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

  /** To any process that is up, in turn, as a load balancer does. */
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
