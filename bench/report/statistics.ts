/** The middle value; between the two in the middle when their number is even. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Linear between the closest ranks; NaN of nothing. @param fraction 0 to 1 */
export function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(rank)] ?? Number.NaN;
  const above = sorted[Math.ceil(rank)] ?? Number.NaN;
  return below + (above - below) * (rank - Math.floor(rank));
}

/** Without spreading into arguments: there may be a million values. */
export const largest = (values: readonly number[]): number =>
  values.reduce((most, value) => Math.max(most, value), -Infinity);

/** How long things took, in milliseconds. */
export interface Percentiles {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** NaN all three of nothing. */
export const percentilesOf = (tookMs: readonly number[]): Percentiles => ({
  p50Ms: percentile(tookMs, 0.5),
  p99Ms: percentile(tookMs, 0.99),
  maxMs: tookMs.length === 0 ? Number.NaN : largest(tookMs),
});
