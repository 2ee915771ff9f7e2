/** Delays that were due and did not begin, for a limit had no place: by id, and until when on the clock of the test. */
export class HeldBack {
  readonly #untilMs = new Map<number, number>();

  add(ids: readonly number[], untilMs: number): void {
    for (const id of ids) this.#untilMs.set(id, untilMs);
  }

  /** Those that wait on at that moment. */
  at(nowMs: number): number[] {
    for (const [id, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(id);
    return [...this.#untilMs.keys()];
  }

  /** When the first of them may begin; Infinity: there is none. */
  get nextMs(): number {
    let nextMs = Infinity;
    for (const untilMs of this.#untilMs.values()) nextMs = Math.min(nextMs, untilMs);
    return nextMs;
  }
}
