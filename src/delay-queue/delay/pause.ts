import type { InTransaction } from './delay.js';
import type { Duration } from './time/duration.js';

/** Of a pause: of which group, why, and for how long. Left out: the whole name, no reason, until it is resumed. */
export type PauseOptions = InTransaction & {
  group?: string;
  /** Why nothing happens, for a reader: up to 1,000 characters. */
  reason?: string;
} & ({ for?: Duration; until?: never } | { until?: Date; for?: never });

/** Which pause ends: that of the name, or that of one group of it. */
export interface ResumeOptions extends InTransaction {
  group?: string;
}

/** A name, or a group of it, of which no delay begins. */
export interface DelayPause {
  name: string;
  /** `null`: the whole name. */
  group: string | null;
  reason: string | null;
  pausedAt: Date;
  /** `null`: until it is resumed. */
  until: Date | null;
}
