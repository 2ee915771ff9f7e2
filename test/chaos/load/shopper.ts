import { randomUUID } from 'node:crypto';
import { HttpException, type INestApplicationContext } from '@nestjs/common';
import { OrdersService } from '../../../src/shop/orders/orders.service.js';
import type { PlacedOrder } from '../../../src/shop/orders/orders.schemas.js';
import { PlaceOrderService } from '../../../src/shop/orders/place-order.service.js';
import { PaymentsService } from '../../../src/shop/payments/payments.service.js';
import type { Random } from '../../../src/random.js';
import type { ClientLog, Verb } from '../record/client-log.js';
import { SHOP } from '../processes/chaos-app.js';
import { weighed } from './weighed.js';

/** The last of them is soon sold out. */
const SKUS = ['TEA-GREEN', 'TEA-OOLONG', 'CUP-WHITE', 'TEA-SAMPLE', 'POT-IRON'];

/** What became of a call. */
type Outcome<Result> = { is: 'ok'; result: Result } | { is: 'fail' } | { is: 'unknown' };

/** Buyers of the sample shop, each with one order, from placing it to its end. */
export class Shopper {
  readonly #place: PlaceOrderService;
  readonly #orders: OrdersService;
  readonly #payments: PaymentsService;

  constructor(
    app: INestApplicationContext,
    private readonly log: ClientLog,
    /** Resolves early when the shop closes for the day. */
    private readonly wait: (ms: number) => Promise<void>,
  ) {
    this.#place = app.get(PlaceOrderService);
    this.#orders = app.get(OrdersService);
    this.#payments = app.get(PaymentsService);
  }

  async shop(random: Random): Promise<void> {
    const placed = await this.#placeOrder(random);
    if (placed === undefined) return;
    const { id, total } = placed;
    // Close to the deadline more often than not: there the close is on its way.
    const nearMs = SHOP.payWithinMs + random.integer(-150, 100);
    await this.wait(random.chance(0.6) ? nearMs : random.integer(0, SHOP.payWithinMs));
    const paid = await weighed<() => Promise<boolean>>(random, [
      [50, () => this.#pay(id)],
      [20, () => this.#report(id, total)],
      [15, () => this.#both(id, total)],
      [10, () => this.#try(() => this.#orders.cancel(id))],
      [5, async () => false],
    ])();
    if (paid) await this.#receive(id, random);
  }

  async #placeOrder(random: Random): Promise<PlacedOrder | undefined> {
    const items = [{ sku: random.pick(SKUS), quantity: random.integer(1, 3) }];
    const key = randomUUID();
    const place = (): Promise<Outcome<PlacedOrder>> =>
      this.#call(
        'place',
        key,
        () => this.#place.place({ items }, key),
        ({ id, payDeadline }) => ({
          id,
          dueMs: Date.parse(payDeadline),
        }),
      );
    const first = await place();
    // What a buyer does who heard nothing: the same again.
    const last = first.is === 'unknown' ? await place() : first;
    return last.is === 'ok' ? last.result : undefined;
  }

  async #pay(id: string): Promise<boolean> {
    const { is } = await this.#call('pay', id, () => this.#payments.pay(id));
    return is === 'ok';
  }

  /** A provider reports money that it has taken; too late, and it goes back. */
  async #report(orderId: string, amount: number): Promise<boolean> {
    const report = { orderId, amount, provider: 'chaos', transaction: randomUUID() };
    const { is } = await this.#call('pay', orderId, async () => {
      const { status } = await this.#payments.record(report);
      if (status !== 'CAPTURED') throw new GivenBack(status);
    });
    return is === 'ok';
  }

  async #both(id: string, total: number): Promise<boolean> {
    const paid = await Promise.all([this.#pay(id), this.#report(id, total)]);
    return paid.includes(true);
  }

  /** Shipped by the seller; the buyer confirms, asks for more time, or says nothing. */
  async #receive(id: string, random: Random): Promise<void> {
    await this.wait(random.integer(0, 500));
    const shipped = await this.#call('ship', id, () => this.#orders.ship(id));
    if (shipped.is !== 'ok') return;
    const nearMs = SHOP.confirmAfterMs + random.integer(-100, 50);
    await this.wait(random.chance(0.5) ? nearMs : random.integer(0, SHOP.confirmAfterMs));
    await weighed<() => Promise<unknown>>(random, [
      [30, () => this.#try(() => this.#orders.confirm(id))],
      [30, () => this.#try(() => this.#orders.extend(id))],
      [40, async () => {}],
    ])();
  }

  /** For what the shop's own rows say enough about. */
  async #try(act: () => Promise<void>): Promise<boolean> {
    await act().catch(() => {});
    return false;
  }

  async #call<Result>(
    verb: Verb,
    key: string,
    ask: () => Promise<Result>,
    told: (result: Result) => { id: string; dueMs: number } | undefined = () => undefined,
  ): Promise<Outcome<Result>> {
    const call = this.log.invoke({ verb, name: 'order', key, token: null, inTransaction: false });
    try {
      const result = await ask();
      const { id = null, dueMs = null } = told(result) ?? {};
      this.log.ok(call, { verdict: 'ok', id, dueMs });
      return { is: 'ok', result };
    } catch (error) {
      // The shop refuses by rolling back.
      const isRefused = error instanceof HttpException || error instanceof GivenBack;
      if (isRefused) this.log.fail(call, error);
      else this.log.unknown(call, error);
      return { is: isRefused ? 'fail' : 'unknown' };
    }
  }
}

/** The payment was not kept. */
class GivenBack extends Error {}
