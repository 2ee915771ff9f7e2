import { isLasting, isTooLarge, isTooMuch, sqlStateOf } from '../database/driver-errors.js';
import type { Trouble } from '../tasks/trouble.js';

/** A statement that takes longer is followed by smaller ones, well before a limit of 10 s strikes. */
const SLOW_MS = 5_000;

/** One that takes less than this share of that leaves room for twice as many. */
const QUICK_SHARE = 1 / 4;

/**
 * How much one statement takes on. Halved when a statement was too much for its time limit, its memory or its connection, or
 * took long; down to one; doubled after a quick one that was as large as it could be. Without this a statement that outlives
 * its limit once is repeated at the same size for ever.
 */
export class StatementSize {
  #now: number;

  /** @param slowMs a statement that takes longer is too large */
  constructor(
    readonly max: number,
    private readonly slowMs = SLOW_MS,
  ) {
    this.#now = max;
  }

  /** What the next statement may ask for. */
  get now(): number {
    return this.#now;
  }

  get isWhole(): boolean {
    return this.#now === this.max;
  }

  /** Runs a statement that asks for so much, and learns from how that ends. */
  async run<Answer>(asked: number, statement: () => Promise<Answer>): Promise<Answer> {
    const sentAtMs = performance.now();
    let answer: Answer;
    try {
      answer = await statement();
    } catch (error) {
      if (isTooMuch(error)) this.failed(asked);
      throw error;
    }
    this.worked(asked, performance.now() - sentAtMs);
    return answer;
  }

  /**
   * The same, of what can be asked again as a smaller one. Answers undefined when it was too large and the next is smaller:
   * to be sent at once, since this one has waited for its limit already.
   */
  async runOrShrink<Answer>(
    asked: number,
    statement: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    try {
      return await this.run(asked, statement);
    } catch (error) {
      if (isTooLarge(error) && this.#now < asked) return undefined;
      throw error;
    }
  }

  worked(asked: number, tookMs: number): void {
    if (tookMs > this.slowMs) this.failed(asked);
    else if (asked >= this.#now && tookMs < this.slowMs * QUICK_SHARE) {
      this.#now = Math.min(this.max, this.#now * 2);
    }
  }

  /** So much was too much, or one of so many was refused. */
  failed(asked: number): void {
    this.#now = Math.max(1, Math.min(this.#now, Math.floor(asked / 2)));
  }
}

/**
 * Runs a statement for items, as many at a time as it may take on. What is too much, or holds something that is refused for good,
 * is done in halves at once: in the end one is alone, and is left out.
 *
 * @param trouble is told of those that are left out
 * @throws what has nothing to do with how many there are, and what a connection says that ended although it was one
 */
export async function inParts<Item>(
  items: readonly Item[],
  size: StatementSize,
  statement: (items: readonly Item[]) => Promise<void>,
  trouble: Pick<Trouble, 'failed'>,
): Promise<void> {
  for (let from = 0; from < items.length;) {
    const part = items.slice(from, from + size.now);
    try {
      await size.run(part.length, () => statement(part));
      from += part.length;
    } catch (error) {
      if (!isTooMuch(error) && !isLasting(error)) throw error;
      if (part.length > 1) size.failed(part.length);
      else {
        if (sqlStateOf(error) === undefined) throw error;
        trouble.failed(error);
        from += 1;
      }
    }
  }
}
