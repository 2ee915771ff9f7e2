import type { Terms } from '../merchants/terms.js';

/** Races that a visitor can start, by the name of their route. */
export const RACES = ['pay-at-the-last-moment', 'pay-after-the-close', 'close-while-paid'] as const;
export type Race = (typeof RACES)[number];

/** Short, and without other delays meanwhile. */
export const RACE_TERMS = {
  payWithinMs: 5_000,
  remindBeforeMs: null,
  smsAfterMs: null,
} satisfies Partial<Terms>;

/** When the payment begins, in milliseconds after the deadline. */
export const BEGINS_MS: Record<Race, number> = {
  // Early enough to wait for the instant on the database's clock.
  'pay-at-the-last-moment': -300,
  'pay-after-the-close': 1_500,
  'close-while-paid': -500,
};

/** When the payment is reported: before the deadline by about the time that recording it takes. */
export const LAST_MOMENT_MS = -8;

/** When the slow provider has answered. */
export const SLOW_ANSWER_MS = 700;
