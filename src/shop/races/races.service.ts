import { Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { PlaceOrderService } from '../orders/place-order.service.js';
import { BEGINS_MS, RACE_TERMS, type Race } from './races.js';

/** A SKU of which there is plenty. */
const BASKET = { items: [{ sku: 'TEA-SAMPLE', quantity: 2 }] };

@Injectable()
export class RacesService {
  constructor(
    private readonly placing: PlaceOrderService,
    private readonly delays: DelayService,
  ) {}

  /**
   * Places an order that closes soon, and has it paid at about that time. The payment is a delay
   * too, so any process that is up then makes it.
   */
  async start(race: Race): Promise<{ orderId: string; payDeadline: string }> {
    const { id: orderId, payDeadline } = await this.placing.place(BASKET, undefined, RACE_TERMS);
    const at = new Date(Date.parse(payDeadline) + BEGINS_MS[race]);
    await this.delays.schedule('race.pay', { orderId, race }, { at, key: orderId });
    return { orderId, payDeadline };
  }
}
