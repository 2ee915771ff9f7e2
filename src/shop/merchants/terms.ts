import type { ShopConfig } from '../shop.config.js';
import type { Merchant } from './merchant.entity.js';

/** The durations that apply to a merchant, in milliseconds. `null`: that message is not sent. */
export interface Terms {
  payWithinMs: number;
  remindBeforeMs: number | null;
  smsAfterMs: number | null;
  confirmAfterMs: number;
  rateAfterMs: number;
}

/** The terms of an order that is placed now, stored in it: later changes apply to later orders. */
export function termsOf(merchant: Merchant, config: ShopConfig): Terms {
  const payWithinMs = merchant.payWithinMs ?? config.payWithinMs;
  const remindBeforeMs = merchant.remindBeforeMs ?? config.remindBeforeMs;
  const smsAfterMs = merchant.smsAfterMs ?? config.smsAfterMs;
  return {
    payWithinMs,
    // With less time to pay than that, no reminder makes sense.
    remindBeforeMs: remindBeforeMs && remindBeforeMs < payWithinMs ? remindBeforeMs : null,
    smsAfterMs: smsAfterMs || null,
    confirmAfterMs: merchant.confirmAfterMs ?? config.confirmAfterMs,
    rateAfterMs: merchant.rateAfterMs ?? config.rateAfterMs,
  };
}
