import type { Race } from './races/races.js';

/**
 * Every delay of the shop, with its payload. The key is the order's id. A refund has the payment's
 * id, a message the message's, a campaign the campaign's, and a reminder of merchants the time
 * zone.
 */
declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    /** The next batch of a campaign goes out. */
    'campaign.send': { campaignId: string };
    /** The time to pay is over. */
    'order.close': { orderId: string };
    /** The buyer's time to report that nothing arrived is over. */
    'order.confirm': { orderId: string };
    /** The buyer's time to rate is over. */
    'order.rate': { orderId: string };
    /** The time to pay is nearly over. */
    'order.remind': { orderId: string };
    /** The text message that confirms an order, shortly after it was placed. */
    'order.sms': { orderId: string };
    /** At nine in that time zone, merchants are reminded of orders that wait to be shipped. */
    'merchant.remind': { timeZone: string };
    /** A message of the outbox is sent to its buyer. */
    'message.send': { messageId: string };
    /** A payment that belongs to no open order is refunded. */
    'payment.refund': { paymentId: string };
    /** Pays an order about when it closes, in a race that a visitor started. */
    'race.pay': { orderId: string; race: Race };
  }
}

/** Delays whose key is an order's id, in the order in which their rows are locked. */
export const ORDER_DELAYS = [
  'order.close',
  'order.confirm',
  'order.rate',
  'order.remind',
  'order.sms',
] as const;
export type OrderDelay = (typeof ORDER_DELAYS)[number];
