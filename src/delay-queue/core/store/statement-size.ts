import {
  isLasting,
  isRefusedByServer,
  isTooLarge,
  isTooMuch,
  readSqlState,
} from '../database/driver-errors.js';
import type { TaskHealth } from '../tasks/task-health.js';

/** A slower statement is followed by smaller ones, well before the limit of 10 s ends it. */
const SLOW_MS = 5_000;

/** A statement faster than this share of the slow limit leaves room for twice as many items. */
const QUICK_SHARE = 1 / 4;

/**
 * How many items one statement takes on. Halved, down to one, when a statement exceeded its time
 * limit, its memory or its connection, or was slow; doubled after a quick one of full size.
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

  /** How many items the next statement may take on. */
  get now(): number {
    return this.#now;
  }

  get isWhole(): boolean {
    return this.#now === this.max;
  }

  /** Runs a statement that takes on `asked` items, and adapts the size to its result. */
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
   * As `run`. Undefined when the statement was too large and the next one is smaller: send that at
   * once, because this one has already waited for its limit.
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

  /**
   * Runs statements for `total` items, at most `most` in each, in one transaction. Repeats them with
   * smaller ones when the server has refused one as too large: nothing was written then.
   * @param isOnce a caller's transaction, which has failed then, and is the caller's to repeat
   */
  async runAll<Answer>(
    total: number,
    isOnce: boolean,
    statements: (most: number) => Promise<Answer>,
  ): Promise<Answer> {
    for (;;) {
      const most = Math.max(1, Math.min(this.#now, total));
      const beganAtMs = performance.now();
      try {
        const answer = await statements(most);
        this.worked(most, (performance.now() - beganAtMs) / Math.ceil(total / most));
        return answer;
      } catch (error) {
        if (!isRefusedByServer(error) || !isTooMuch(error)) throw error;
        this.failed(most);
        if (isOnce || most === 1) throw error;
      }
    }
  }

  worked(asked: number, tookMs: number): void {
    if (tookMs > this.slowMs) this.failed(asked);
    else if (asked >= this.#now && tookMs < this.slowMs * QUICK_SHARE) {
      this.#now = Math.min(this.max, this.#now * 2);
    }
  }

  /** `asked` items were too many, or one of them was refused. */
  failed(asked: number): void {
    this.#now = Math.max(1, Math.min(this.#now, Math.floor(asked / 2)));
  }
}

/** The items in order, `most` at a time. */
export function* chunks<Item>(items: readonly Item[], most: number): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += most) yield items.slice(from, from + most);
}

/**
 * Runs a statement for all items, as many at a time as `size` allows. A part that is too large, or
 * holds an item that is refused for good, is repeated in halves at once. An item that fails alone
 * is left out, and the failure is reported.
 * @throws errors that do not depend on the number of items, or of a connection that ended with only
 * one
 */
export async function inParts<Item>(
  items: readonly Item[],
  size: StatementSize,
  statement: (items: readonly Item[]) => Promise<void>,
  health: Pick<TaskHealth, 'failed'>,
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
        if (readSqlState(error) === undefined) throw error;
        health.failed(error);
        from += 1;
      }
    }
  }
}
