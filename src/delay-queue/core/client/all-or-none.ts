import { isRefusedByServer, isTooMuch } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import type { DelayStore } from '../store/delay.store.js';
import type { NewDelay, Placed } from '../store/rows/delay-rows.js';
import { chunks, StatementSize } from '../store/statement-size.js';
import type { CallersTransaction, Joined, Transactions } from '../transactions/transactions.js';
import { withFirstInstants } from './first-instants.js';
import type { SelfReschedules } from './self-reschedules.js';

/** Most delays in one statement: those of a whole call. */
const DELAYS_MAX = 10_000;

/** The rows in the order of the delays, and the transaction that they joined, if any. */
interface AllWritten {
  placed: readonly Placed[];
  joined?: Joined;
}

/** Writes the delays of one `scheduleMany`: all or none. */
export class AllOrNone {
  readonly #size = new StatementSize(DELAYS_MAX);

  constructor(
    private readonly store: DelayStore,
    private readonly selfReschedules: SelfReschedules,
    private readonly transactions: Transactions,
  ) {}

  /**
   * Uses one statement if the call has its own transaction, no key is taken, and no earlier
   * statement of that size was too large.
   * @param sorted in lock order
   */
  async write(
    sorted: readonly NewDelay[],
    transaction: CallersTransaction,
    ready: Promise<void> | undefined,
  ): Promise<AllWritten> {
    const { joined, runner, inOrder } = transaction;
    const own = sorted.some((delay) => this.selfReschedules.attempt(joined, delay));
    return await inOrder(sorted, async () => {
      if (ready !== undefined) await ready;
      if (joined === undefined && sorted.length <= this.#size.now && !own) {
        const placed = await this.#atOnce(sorted, runner);
        if (placed !== undefined) return { placed };
      }
      return await this.#size.runAll(sorted.length, joined !== undefined, (most) =>
        this.transactions.run(transaction, async (its, itsRunner) => {
          const timed = await withFirstInstants(this.store, itsRunner, sorted);
          const placed: Placed[] = [];
          for (const part of chunks(timed, most)) {
            placed.push(...(await this.selfReschedules.scheduleAll(its, itsRunner, part)));
          }
          return { placed, joined: its };
        }),
      );
    });
  }

  /** Returns undefined if a key is taken or a server limit was hit. Nothing was written then. */
  async #atOnce(
    sorted: readonly NewDelay[],
    runner: Runner,
  ): Promise<readonly Placed[] | undefined> {
    const timed = await withFirstInstants(this.store, runner, sorted);
    try {
      return await this.#size.run(sorted.length, () => this.store.placeAll(runner, timed));
    } catch (error) {
      if (sorted.length > 1 && isRefusedByServer(error) && isTooMuch(error)) return undefined;
      throw error;
    }
  }
}
