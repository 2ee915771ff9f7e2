import { Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { PlaceOrderService } from '../orders/place-order.service.js';
import { BEGINS_MS, RACE_TERMS, type Race } from './races.js';

/** Few words for a stranger's order; there is plenty of it. */
const BASKET = { items: [{ sku: 'TEA-SAMPLE', quantity: 2 }] };

@Injectable()
export class RacesService {
  constructor(
    private readonly placing: PlaceOrderService,
    private readonly delays: DelayService,
  ) {}

  /**
   * Places an order that closes soon, and has it paid about then: also a delay, so whichever
   * process lives at that time does it.
   */
  async start(race: Race): Promise<{ orderId: string; payDeadline: string }> {
    const { id: orderId, payDeadline } = await this.placing.place(BASKET, undefined, RACE_TERMS);
    const at = new Date(Date.parse(payDeadline) + BEGINS_MS[race]);
    await this.delays.schedule('race.pay', { orderId, race }, { at, key: orderId });
    return { orderId, payDeadline };
  }
}
