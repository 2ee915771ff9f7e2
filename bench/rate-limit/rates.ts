/** What became of a limit. */
export interface Kept {
  /** Attempts that began in any second, at most. */
  most: number;
  /** In each second of the run, in the mean. */
  mean: number;
  /** Until a whole second had as many again as `enough` says, after each crash; milliseconds. */
  recoveredAfterMs: number[];
}

/**
 * @param beganMs in their order
 * @param enough attempts in a second that count as all that the limit gives
 */
export function keptOf(
  beganMs: readonly number[],
  crashesMs: readonly number[],
  enough: number,
): Kept {
  const first = beganMs[0] ?? Number.NaN;
  const last = beganMs.at(-1) ?? Number.NaN;
  let most = 0;
  for (let from = 0, to = 0; to < beganMs.length; to += 1) {
    while ((beganMs[to] as number) - (beganMs[from] as number) >= SECOND_MS) from += 1;
    most = Math.max(most, to - from + 1);
  }
  return {
    most,
    mean: ((beganMs.length - 1) / (last - first)) * SECOND_MS,
    recoveredAfterMs: crashesMs.map((crashMs) => recoveredAfterMs(beganMs, crashMs, enough)),
  };
}

function recoveredAfterMs(beganMs: readonly number[], crashMs: number, enough: number): number {
  for (let to = 0; to < beganMs.length; to += 1) {
    const endMs = beganMs[to] as number;
    const beforeMs = beganMs[to - enough + 1];
    if (beforeMs === undefined || beforeMs < crashMs) continue;
    if (endMs - beforeMs < SECOND_MS) return beforeMs - crashMs;
  }
  return Number.NaN;
}

const SECOND_MS = 1_000;
