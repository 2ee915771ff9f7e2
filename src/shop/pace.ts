/** How often to do something whose cost grows with the shop's load. */
export interface Pace {
  /** Largest share of the time, such as 1/5. */
  share: number;
  leastPauseMs: number;
  /** A longer pause is not justified: what took so long was probably waiting, not working. */
  mostPauseMs: number;
}

/** The pause after work that took `tookMs`. */
export const pauseAfter = (tookMs: number, { share, leastPauseMs, mostPauseMs }: Pace): number =>
  Math.min(mostPauseMs, Math.max(leastPauseMs, tookMs * (1 / share - 1)));
