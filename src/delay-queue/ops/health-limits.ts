import { checkInteger, checkKnownOptions, parseDurationBetween } from '../core/ops.js';

/** What counts as unhealthy. */
export interface HealthLimits {
  lateAfterMs: number;
  heldAfterMs: number;
  deadLettersMax: number;
  snapshotAfterMs: number;
}

const KNOWN = ['lateAfter', 'heldAfter', 'deadLettersMax', 'snapshotAfter'];

/** @throws DelayInvalidError which option is wrong, and why */
export function parseHealthLimits(options: unknown, field = 'options'): HealthLimits {
  const given = checkKnownOptions(options, field, KNOWN);
  const { lateAfter = '1m', heldAfter = '24h' } = given;
  const { deadLettersMax = 100, snapshotAfter = '10m' } = given;
  return {
    lateAfterMs: parseDurationBetween(lateAfter, 'lateAfter', '1s', '24h'),
    heldAfterMs: parseDurationBetween(heldAfter, 'heldAfter', '1s', '366d'),
    deadLettersMax: checkInteger(deadLettersMax, 'deadLettersMax', 0, 100_000),
    snapshotAfterMs: parseDurationBetween(snapshotAfter, 'snapshotAfter', '1s', '7d'),
  };
}
