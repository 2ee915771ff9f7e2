import { setTimeout as pause } from 'node:timers/promises';
import type { PlacedOrder } from '../../src/shop/orders/orders.schemas.js';
import { skuOf } from './orders.js';
import { Answers } from './answers.js';
import type { ShopClient } from './client.js';

/** A third is paid in time, a third too late or cancelled; the rest closes. Neighbours differ. */
const FATES = ['paid', 'paid late', 'left', 'paid', 'cancelled', 'left'] as const;

const TICK_MS = 2;

/** Of the time to pay: the first part passes in any case, the last is kept for slow requests. */
const EARLIEST_SHARE = 0.1;
const LATEST_SHARE = 0.7;

/** A late payment comes so long after the deadline, when the order has been closed. */
const LATE_BY_MS = 500;

/** Coprime to a hundred: neighbours act at different times, and each time equally often. */
const STRIDE = 37;

/** Requests of many buyers, none of whom waits for another. */
export class Traffic {
  readonly answers = {
    'POST /orders': new Answers(),
    'POST /orders/:id/pay': new Answers(),
    'POST /orders/:id/cancel': new Answers(),
    'POST /payments/callback': new Answers(),
  };

  constructor(private readonly client: ShopClient) {}

  /** Resolves when everything that these buyers do is answered. */
  async run(options: { perSecond: number; seconds: number; skus: number }): Promise<void> {
    const { perSecond, seconds, skus } = options;
    const count = Math.round(perSecond * seconds);
    const startedAtMs = performance.now();
    const buyers: Promise<void>[] = [];
    while (buyers.length < count) {
      const elapsedMs = performance.now() - startedAtMs;
      const wanted = Math.min(count, Math.floor((elapsedMs * perSecond) / 1_000) + 1);
      while (buyers.length < wanted) buyers.push(this.#buy(buyers.length, skus));
      await pause(TICK_MS);
    }
    await Promise.all(buyers);
  }

  async #buy(n: number, skus: number): Promise<void> {
    const items = [{ sku: skuOf(n % skus), quantity: 1 }];
    const answer = await this.client.send('POST', '/orders', { items });
    if (!this.answers['POST /orders'].note(answer, 201)) return;
    const order = JSON.parse(answer.body) as PlacedOrder;
    const leftMs = Date.parse(order.payDeadline) - Date.parse(order.serverNow);
    const share = EARLIEST_SHARE + (((n * STRIDE) % 100) / 100) * (LATEST_SHARE - EARLIEST_SHARE);
    const fate = FATES[n % FATES.length];
    if (fate === 'paid') await this.#act(order, 'pay', leftMs * share);
    else if (fate === 'cancelled') await this.#act(order, 'cancel', leftMs * share);
    else if (fate === 'paid late') await this.#payLate(order, leftMs + LATE_BY_MS);
  }

  async #act({ id }: PlacedOrder, action: 'pay' | 'cancel', afterMs: number): Promise<void> {
    await pause(afterMs);
    const answer = await this.client.send('POST', `/orders/${id}/${action}`);
    this.answers[`POST /orders/:id/${action}`].note(answer, 200);
  }

  async #payLate({ id, total: amount }: PlacedOrder, afterMs: number): Promise<void> {
    await pause(afterMs);
    const report = { orderId: id, provider: 'bench', transaction: `of ${id}`, amount };
    const answer = await this.client.send('POST', '/payments/callback', report);
    this.answers['POST /payments/callback'].note(answer, 200);
  }
}
