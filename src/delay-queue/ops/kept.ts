import { LATE, within } from '../core/ops.js';

/** A statement of the engine ends within 15 s; a probe of a platform waits for less. */
const ANSWER_WITHIN_MS = 5_000;

/** A reading that all who ask share, until it is too old. */
export class Kept<Reading> {
  #reading: Promise<Reading> | undefined;
  #endsAtMs = -Infinity;
  /** Statements of the last look are unanswered, perhaps for longer than anyone waits. */
  #isOpen = false;
  #last: { reading: Reading; atMs: number } | undefined;
  /** Of the last look, if that failed. */
  #error: { error: unknown } | undefined;

  constructor(
    private readonly read: () => Promise<Reading>,
    private readonly keptMs: number,
  ) {}

  /** Also an error is kept: a database that is gone is not asked by each probe. */
  get now(): Promise<Reading> {
    const isKept = this.#isOpen || performance.now() < this.#endsAtMs;
    if (this.#reading !== undefined && isKept) return this.#reading;
    const reading = this.#answered();
    this.#endsAtMs = Infinity;
    const over = (failed?: { error: unknown }): void => {
      this.#error = failed;
      this.#endsAtMs = performance.now() + this.keptMs;
    };
    reading.then(
      () => over(),
      (error: unknown) => over({ error }),
    );
    this.#reading = reading;
    return reading;
  }

  /** Why the last look failed; undefined: it did not. */
  get failed(): { error: unknown } | undefined {
    return this.#error;
  }

  /** The last reading, however old. */
  get last(): { reading: Reading; ageMs: number } | undefined {
    const last = this.#last;
    return last && { reading: last.reading, ageMs: performance.now() - last.atMs };
  }

  async #answered(): Promise<Reading> {
    // Another look beside one that hangs would take one more connection from the engine.
    this.#isOpen = true;
    const reading = this.read().finally(() => {
      this.#isOpen = false;
    });
    const answer = await within(reading, ANSWER_WITHIN_MS, { ref: false });
    if (answer === LATE) throw new Error(`no answer within ${ANSWER_WITHIN_MS / 1_000} s`);
    this.#last = { reading: answer, atMs: performance.now() };
    return answer;
  }
}
