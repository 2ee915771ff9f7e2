import type { ShopConfig } from '../shop.config.js';
import type { Merchant } from './merchant.entity.js';

/** How long everything takes with one merchant, in milliseconds. `null`: that message is not sent. */
export interface Terms {
  payWithinMs: number;
  remindBeforeMs: number | null;
  smsAfterMs: number | null;
  confirmAfterMs: number;
  rateAfterMs: number;
}

/**
 * The terms of an order that is placed now. They go into the order: what the merchant or the shop
 * changes later is for later orders.
 */
export function termsOf(merchant: Merchant, config: ShopConfig): Terms {
  const payWithinMs = merchant.payWithinMs ?? config.payWithinMs;
  const remindBeforeMs = merchant.remindBeforeMs ?? config.remindBeforeMs;
  const smsAfterMs = merchant.smsAfterMs ?? config.smsAfterMs;
  return {
    payWithinMs,
    // With less time to pay than that there is nothing to remind of.
    remindBeforeMs: remindBeforeMs && remindBeforeMs < payWithinMs ? remindBeforeMs : null,
    smsAfterMs: smsAfterMs || null,
    confirmAfterMs: merchant.confirmAfterMs ?? config.confirmAfterMs,
    rateAfterMs: merchant.rateAfterMs ?? config.rateAfterMs,
  };
}
