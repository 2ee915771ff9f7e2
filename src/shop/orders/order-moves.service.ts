import { Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import type { EntityManager, FindOptionsWhere } from 'typeorm';
import type { OrderDelay } from '../delays.js';
import { Outbox } from '../outbox/outbox.js';
import type { Order } from './order.entity.js';
import { moveOrders, ON_ENTERING, type MovedOrder, type OrderMove } from './order.moves.js';

/**
 * Moves an order with what belongs to the move: the message to the buyer, and the end of timers
 * that no longer make sense. All of it is part of the caller's transaction.
 *
 * `cancel` may return that a delay is running already. That is fine: its handler makes a
 * compare-and-set on the row that is locked here, and finds that it came second.
 */
@Injectable()
export class OrderMoves {
  constructor(
    private readonly delays: DelayService,
    private readonly outbox: Outbox,
  ) {}

  /**
   * @returns `undefined` when the order was in another state, or another call made the move first
   */
  async one(
    manager: EntityManager,
    id: string,
    move: OrderMove,
    only?: FindOptionsWhere<Order>,
  ): Promise<MovedOrder | undefined> {
    const [moved] = await moveOrders(manager, [id], move, only);
    if (moved === undefined) return undefined;
    const { news, ends } = ON_ENTERING[move.to];
    await this.outbox.post(manager, news, [moved.id]);
    for (const name of ends) await this.delays.cancel(name, moved.id, { manager });
    return moved;
  }

  /**
   * For the handler of `firing`, whose own delays end with its transaction.
   *
   * @returns those that moved; the others were in another state already
   */
  async whenFiring(
    firing: OrderDelay,
    manager: EntityManager,
    ids: readonly string[],
    move: OrderMove,
  ): Promise<MovedOrder[]> {
    const moved = await moveOrders(manager, ids, move);
    const movedIds = moved.map(({ id }) => id);
    const { news, ends } = ON_ENTERING[move.to];
    await this.outbox.post(manager, news, movedIds);
    const others = ends.filter((name) => name !== firing);
    // Rarely any: a close finds a reminder or a text message that has not been sent yet.
    for (const { name, key } of await this.waiting(manager, others, movedIds)) {
      await this.delays.cancel(name, key, { manager });
    }
    return moved;
  }

  /** In the order in which rows are always locked. */
  private waiting(
    manager: EntityManager,
    names: readonly OrderDelay[],
    keys: readonly string[],
  ): Promise<{ name: OrderDelay; key: string }[]> | [] {
    if (names.length === 0 || keys.length === 0) return [];
    return manager.query(
      `SELECT name, key FROM delay_queue.delay
       WHERE name = ANY ($1) AND key = ANY ($2) ORDER BY key, name`,
      [names, keys],
    );
  }
}
