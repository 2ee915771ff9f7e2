import type { Race } from './races/races.js';

/**
 * Everything the shop puts off, with what each delay carries. Keys: the order's id; for a refund the
 * payment's, for a message the message's, for a campaign the campaign's, for a reminder of merchants the
 * time zone.
 */
declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    /** The next batch of a campaign goes out. */
    'campaign.send': { campaignId: string };
    /** The time to pay is over. */
    'order.close': { orderId: string };
    /** The buyer has had long enough to say that nothing arrived. */
    'order.confirm': { orderId: string };
    /** The buyer has had long enough to rate. */
    'order.rate': { orderId: string };
    /** The time to pay is nearly over. */
    'order.remind': { orderId: string };
    /** The order is placed and a moment has passed: the text message that says so. */
    'order.sms': { orderId: string };
    /** It is nine in that time zone: merchants hear of the orders that wait to be shipped. */
    'merchant.remind': { timeZone: string };
    /** A message of the outbox goes to its buyer. */
    'message.send': { messageId: string };
    /** Money that belongs to no open order goes back. */
    'payment.refund': { paymentId: string };
    /** An order is paid about when it closes, because a visitor wants to see it. */
    'race.pay': { orderId: string; race: Race };
  }
}

/** The delays whose key is an order's id, in the order in which their rows are locked. */
export const ORDER_DELAYS = [
  'order.close',
  'order.confirm',
  'order.rate',
  'order.remind',
  'order.sms',
] as const;
export type OrderDelay = (typeof ORDER_DELAYS)[number];
