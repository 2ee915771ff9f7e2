/** How long steps are gathered before the system is asked about them, which takes microseconds. */
const GATHERED_MS = 0.25;

/**
 * The longest of many short steps, as it was seen, and as it was while this process had a processor
 * to itself. On a busy machine the first says how long others were let in: a time slice of theirs is
 * longer than most steps. Steps are gathered, and those among which the system interrupted the
 * process do not count for the second. What a hypervisor takes is invisible, and counts.
 */
export class Longest {
  seenMs = 0;
  undisturbedMs = 0;
  #gatheredMs = 0;
  #longestGatheredMs = 0;
  #interruptions = interruptions();

  add(stepMs: number): void {
    if (stepMs > this.seenMs) this.seenMs = stepMs;
    if (stepMs > this.#longestGatheredMs) this.#longestGatheredMs = stepMs;
    this.#gatheredMs += stepMs;
    if (this.#gatheredMs < GATHERED_MS) return;
    const now = interruptions();
    if (now === this.#interruptions && this.#longestGatheredMs > this.undisturbedMs)
      this.undisturbedMs = this.#longestGatheredMs;
    this.#interruptions = now;
    this.#gatheredMs = this.#longestGatheredMs = 0;
  }
}

function interruptions(): number {
  return process.resourceUsage().involuntaryContextSwitches;
}
