import type { OnDelayOptions } from 'nestjs-delay-queue';
import type { ShopConfig } from '../shop.config.js';

/** A batch is as many messages as one merchant may send in a second. */
export const messagesPerSecond = (config: ShopConfig): number => config.messagesPerSecond ?? 20;

/**
 * What the provider has agreed to, kept by all processes of the shop together: a merchant begins one
 * batch in a second, whichever of its campaigns it is of, and all merchants together begin five.
 */
export const CAMPAIGN_LIMITS = {
  perGroup: { rateLimit: { max: 1, per: '1s' } },
  global: { rateLimit: { max: 5, per: '1s' } },
} as const satisfies OnDelayOptions;
