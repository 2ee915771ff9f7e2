import type { OnDelayOptions } from 'nestjs-delay-queue';
import type { ShopConfig } from '../shop.config.js';

/** The size of a batch: what one merchant may send in a second. */
export const messagesPerSecond = (config: ShopConfig): number => config.messagesPerSecond ?? 20;

/**
 * What was agreed with the provider, enforced across all processes of the shop: a merchant begins
 * one batch in a second, of any of its campaigns, and all merchants together begin five.
 */
export const CAMPAIGN_LIMITS = {
  perGroup: { rateLimit: { max: 1, per: '1s' } },
  global: { rateLimit: { max: 5, per: '1s' } },
} as const satisfies OnDelayOptions;
