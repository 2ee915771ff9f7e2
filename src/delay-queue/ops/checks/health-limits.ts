import { durationIn, integer, parseByTable } from '../../core/ops.js';

/** What counts as unhealthy. */
export interface HealthLimits {
  lateAfterMs: number;
  heldAfterMs: number;
  deadLettersMax: number;
  snapshotAfterMs: number;
}

const LIMITS = {
  lateAfter: [durationIn('1s', '24h'), '1m'],
  heldAfter: [durationIn('1s', '366d'), '24h'],
  deadLettersMax: [integer(0, 100_000), 100],
  snapshotAfter: [durationIn('1s', '7d'), '10m'],
} as const;

/** @throws DelayInvalidError which option is wrong, and why */
export function parseHealthLimits(options: unknown, field = 'options'): HealthLimits {
  const { lateAfter, heldAfter, deadLettersMax, snapshotAfter } = parseByTable(
    options,
    field,
    LIMITS,
  );
  return {
    lateAfterMs: lateAfter,
    heldAfterMs: heldAfter,
    deadLettersMax,
    snapshotAfterMs: snapshotAfter,
  };
}
