import { randomUUID } from 'node:crypto';
import { HttpException, type INestApplicationContext } from '@nestjs/common';
import { OrdersService } from '../../../src/shop/orders/orders.service.js';
import type { PlacedOrder } from '../../../src/shop/orders/orders.schemas.js';
import { PlaceOrderService } from '../../../src/shop/orders/place-order.service.js';
import { PaymentsService } from '../../../src/shop/payments/payments.service.js';
import { SamplePaymentsService } from '../../../src/shop/payments/sample-payments.service.js';
import type { Random } from '../../../src/random.js';
import type { ClientLog, Verb } from '../record/client-log.js';
import { SHOP } from '../processes/chaos-app.js';
import { weighed } from './weighed.js';

/** The last of them is soon sold out. */
const SKUS = ['TEA-GREEN', 'TEA-OOLONG', 'CUP-WHITE', 'TEA-SAMPLE', 'POT-IRON'];

/** Buyers of the sample shop, each with one order, from placing it to its end. */
export class Shopper {
  readonly #place: PlaceOrderService;
  readonly #orders: OrdersService;
  readonly #payments: PaymentsService;
  readonly #sample: SamplePaymentsService;

  constructor(
    app: INestApplicationContext,
    private readonly log: ClientLog,
    /** Resolves early when the shop closes for the day. */
    private readonly wait: (ms: number) => Promise<void>,
  ) {
    this.#place = app.get(PlaceOrderService);
    this.#orders = app.get(OrdersService);
    this.#payments = app.get(PaymentsService);
    this.#sample = app.get(SamplePaymentsService);
  }

  async shop(random: Random): Promise<void> {
    const placed = await this.#placeOrder(random);
    if (!placed) return;
    const { id, total } = placed;
    // Close to the deadline more often than not: there the close is on its way.
    const nearMs = SHOP.payWithinMs + random.integer(-150, 100);
    await this.wait(random.chance(0.6) ? nearMs : random.integer(0, SHOP.payWithinMs));
    await weighed<() => Promise<unknown>>(random, [
      [50, () => this.#pay(id)],
      [20, () => this.#report(id, total)],
      [15, () => Promise.all([this.#pay(id), this.#report(id, total)])],
      [10, () => this.#orders.cancel(id).catch(() => {})],
      [5, async () => {}],
    ])();
    await this.#receive(id, random);
  }

  async #placeOrder(random: Random): Promise<PlacedOrder | undefined> {
    const items = [{ sku: random.pick(SKUS), quantity: random.integer(1, 3) }];
    const key = randomUUID();
    const place = () => this.#call('place', key, () => this.#place.place({ items }, key));
    const placed = await place();
    // What a buyer does who heard nothing: the same again.
    const answer = placed === 'unknown' ? await place() : placed;
    return answer === 'unknown' ? undefined : answer;
  }

  #pay(id: string): Promise<unknown> {
    return this.#call('pay', id, () => this.#sample.pay(id));
  }

  /** A provider reports money that it has taken; too late, and it goes back. */
  #report(orderId: string, amount: number): Promise<unknown> {
    const report = { orderId, amount, provider: 'chaos', transaction: randomUUID() };
    return this.#call('pay', orderId, async () => {
      const { status } = await this.#payments.record(report);
      if (status !== 'CAPTURED') throw new GivenBack(status);
    });
  }

  /** Shipped by the seller, if paid; the buyer confirms, asks for more time, or says nothing. */
  async #receive(id: string, random: Random): Promise<void> {
    await this.wait(random.integer(0, 500));
    await this.#call('ship', id, () => this.#orders.ship(id));
    const nearMs = SHOP.confirmAfterMs + random.integer(-100, 50);
    await this.wait(random.chance(0.5) ? nearMs : random.integer(0, SHOP.confirmAfterMs));
    // The shop's own rows say enough about what became of it.
    await weighed<() => Promise<unknown>>(random, [
      [30, () => this.#orders.confirm(id).catch(() => {})],
      [30, () => this.#orders.extend(id).catch(() => {})],
      [40, async () => {}],
    ])();
  }

  /** @returns what was answered; nothing when the shop refused */
  async #call<Result>(
    verb: Verb,
    key: string,
    ask: () => Promise<Result>,
  ): Promise<Result | 'unknown' | undefined> {
    const call = this.log.invoke({ verb, name: 'order', key, token: null, inTransaction: false });
    try {
      const result = await ask();
      const { id = null } = (result ?? {}) as { id?: string };
      this.log.ok(call, { verdict: 'ok', id, dueMs: null });
      return result;
    } catch (error) {
      // It refuses by rolling back.
      const isRefused = error instanceof HttpException || error instanceof GivenBack;
      if (isRefused) this.log.fail(call, error);
      else this.log.unknown(call, error);
      return isRefused ? undefined : 'unknown';
    }
  }
}

/** The payment was not kept. */
class GivenBack extends Error {}
