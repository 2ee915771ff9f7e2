import { Inject, Injectable } from '@nestjs/common';
import { DelayService, type ScheduleItem } from 'nestjs-delay-queue';
import { createHash, randomUUID } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { offerOf, takeStock, type Quantity } from '../catalog/stock.js';
import { ProblemException } from '../http/problem.js';
import { nextRound } from '../outbox/rounds.js';
import { termsOf, type Terms } from '../merchants/terms.js';
import { serverNow } from '../shop.clock.js';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { Order } from './order.entity.js';
import type { PlacedOrder, PlaceOrderRequest } from './orders.schemas.js';

/** The parts of an answer. */
interface Placed extends Pick<Order, 'id' | 'status' | 'total' | 'payDeadline'> {
  /** The database's clock. */
  now: Date;
}

type TimerOfUnpaid = 'order.close' | 'order.remind' | 'order.sms';

/** The requested items, and the `Idempotency-Key` if there is one. */
interface Request {
  quantities: Quantity[];
  key: string | null;
  hash: string | null;
  /** These replace the merchant's. */
  terms: Partial<Terms>;
}

@Injectable()
export class PlaceOrderService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {}

  /**
   * Takes stock, writes the order and starts its time to pay, all or nothing. The same
   * `idempotencyKey` with the same items returns the first order.
   *
   * @param terms for this order, in place of the merchant's terms
   * @throws 409 naming the SKU that is out of stock; 422 when the key was used for other items
   */
  async place(
    { items }: PlaceOrderRequest,
    idempotencyKey?: string,
    terms: Partial<Terms> = {},
  ): Promise<PlacedOrder> {
    const quantities = perSku(items);
    const key = idempotencyKey ?? null;
    const hash = key === null ? null : hashOf(quantities);
    const request = { quantities, key, hash, terms };
    return answer((await this.placedBefore(request)) ?? (await this.placeNow(request)));
  }

  private async placeNow(request: Request): Promise<Placed> {
    try {
      return await this.dataSource.transaction((manager) => this.write(manager, request));
    } catch (error) {
      // Two concurrent requests with one key: the insert of the second waited for the first.
      const first = error instanceof KeyTaken ? await this.placedBefore(request) : null;
      if (first) return first;
      throw error;
    }
  }

  private async write(manager: EntityManager, request: Request): Promise<Placed> {
    const id = randomUUID();
    const { merchant, lines, readAt } = await offerOf(manager, request.quantities);
    const terms = { ...termsOf(merchant, this.config), ...request.terms };
    const timer = { payload: { orderId: id }, key: id, group: merchant.id };
    const payDeadline = await this.startTimers(manager, timer, readAt, terms);
    const order = {
      id,
      status: 'UNPAID' as const,
      total: lines.reduce((total, { price, quantity }) => total + price * quantity, 0),
      payDeadline,
      merchantId: merchant.id,
      confirmAfterMs: terms.confirmAfterMs,
      rateAfterMs: terms.rateAfterMs,
      idempotencyKey: request.key,
      requestHash: request.hash,
    };
    const insert = manager.createQueryBuilder().insert().into(Order).values(order).orIgnore();
    const { raw } = await insert.returning('id').execute();
    if (raw.length === 0) throw new KeyTaken();
    // Last, because other orders of the same SKU wait from here until the commit.
    return { ...order, now: await takeStock(manager, id, lines) };
  }

  /**
   * The close is exact to the millisecond; messages go out in rounds.
   *
   * @returns when the order closes unless it is paid
   */
  private async startTimers(
    manager: EntityManager,
    timer: Timer,
    readAt: Date,
    { payWithinMs, remindBeforeMs, smsAfterMs }: Terms,
  ): Promise<Date> {
    const inRoundAfter = (ms: number): Date => nextRound(new Date(readAt.getTime() + ms));
    const timers: ScheduleItem<TimerOfUnpaid>[] = [
      { ...timer, name: 'order.close', after: payWithinMs },
    ];
    if (remindBeforeMs !== null) {
      const at = inRoundAfter(payWithinMs - remindBeforeMs);
      timers.push({ ...timer, name: 'order.remind', at });
    }
    if (smsAfterMs !== null) {
      timers.push({ ...timer, name: 'order.sms', at: inRoundAfter(smsAfterMs) });
    }
    const [close] = await this.delays.scheduleMany(timers, { manager });
    return close!.dueAt;
  }

  private async placedBefore({ key, hash }: Request): Promise<Placed | null> {
    if (key === null) return null;
    const order = await this.dataSource.manager.findOneBy(Order, { idempotencyKey: key });
    if (!order) return null;
    if (order.requestHash !== hash) {
      throw new ProblemException(
        'key-used-before',
        'this Idempotency-Key was used for other items',
      );
    }
    const { id, status, total, payDeadline } = order;
    return { id, status, total, payDeadline, now: await serverNow(this.dataSource.manager) };
  }
}

/** Shared by the timers of an order. The group keeps a merchant's backlog from delaying others. */
type Timer = Pick<ScheduleItem<TimerOfUnpaid>, 'payload' | 'key' | 'group'>;

/** Rolls back the second of two requests with one key. */
class KeyTaken extends Error {}

/** One line per SKU, in SKU order. Also what makes two requests the same request. */
function perSku(items: Quantity[]): Quantity[] {
  const quantities = new Map<string, number>();
  for (const { sku, quantity } of items) {
    quantities.set(sku, (quantities.get(sku) ?? 0) + quantity);
  }
  return [...quantities]
    .map(([sku, quantity]) => ({ sku, quantity }))
    .toSorted((a, b) => (a.sku < b.sku ? -1 : 1));
}

const hashOf = (quantities: Quantity[]): string =>
  createHash('sha256').update(JSON.stringify(quantities)).digest('hex');

function answer({ id, status, total, payDeadline, now }: Placed): PlacedOrder {
  return {
    id,
    status,
    total,
    payDeadline: payDeadline.toISOString(),
    serverNow: now.toISOString(),
  };
}
