/** How often something may be done that costs the more the busier the shop is. */
export interface Pace {
  /** Of the time, while it takes long: 1/5. */
  share: number;
  leastPauseMs: number;
  /** What took longer than this allows for was waiting, most likely, and not at work. */
  mostPauseMs: number;
}

/** The pause after something that took so long. */
export const pauseAfter = (tookMs: number, { share, leastPauseMs, mostPauseMs }: Pace): number =>
  Math.min(mostPauseMs, Math.max(leastPauseMs, tookMs * (1 / share - 1)));
