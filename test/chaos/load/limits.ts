import type { OnDelayOptions } from 'nestjs-delay-queue';

/** Names that are limited on all nodes together: by their leases, and by their rate. */
export const LIMITED = 'chaos.limited';
export const RATED = 'chaos.rated';

/** Tight: delays wait for all of them. */
export const NAME_MAX = 3;
export const GROUP_MAX = 1;
export const RATE_MAX = 10;
export const RATE_PER_MS = 1_000;

export const LIMITS = {
  [LIMITED]: { global: { concurrency: NAME_MAX }, perGroup: { concurrency: GROUP_MAX } },
  [RATED]: { global: { rateLimit: { max: RATE_MAX, per: RATE_PER_MS } } },
} as const satisfies Record<string, OnDelayOptions>;

export const GROUPS = ['g1', 'g2', 'g3', 'g4', 'g5', 'g6'];

/** A client that dies leaves its pause behind: each ends by itself. */
export const PAUSE_MS_MAX = 4_000;
