import type { EntityManager } from 'typeorm';
import { despiteDeadlocks } from '../store/deadlock.js';
import type { DelayStore } from '../store/delay.store.js';
import type { Placed, NewDelay } from '../store/wire/delay-rows.js';
import type { Runner } from '../store/wire/runner.js';
import { ownAttempt, type OwnKeyWrites } from './own-key.js';
import {
  type CallersTransaction,
  isInTransaction,
  runnerOf,
} from './transaction/callers-transaction.js';
import type { OutsideTransactions } from './transaction/outside-transactions.js';

/** The rows in the order of the delays, and the manager of their transaction, if it has one. */
export interface AllWritten {
  placed: readonly Placed[];
  manager?: EntityManager;
}

/** Writes the delays of one `scheduleMany`: all of them, or none. */
export class AllOrNone {
  constructor(
    private readonly store: DelayStore,
    private readonly ownKey: OwnKeyWrites,
    private readonly outside: OutsideTransactions,
  ) {}

  /**
   * One statement, where the transaction is the call's own and no key is taken.
   * @param sorted in lock order
   */
  async write(
    sorted: readonly NewDelay[],
    { manager, runner, inOrder }: CallersTransaction,
  ): Promise<AllWritten> {
    if (manager === undefined && !sorted.some((delay) => ownAttempt(manager, delay))) {
      const placed = await this.store.placeAll(runner, sorted);
      if (placed !== undefined) return { placed };
    }
    return await inOrder(sorted, () =>
      this.#inOneTransaction(manager, runner, async (joined, its) => ({
        placed: await this.ownKey.scheduleAll(joined, its, sorted),
        manager: joined,
      })),
    );
  }

  /** In the caller's transaction, if the caller has begun one; else in a transaction that begins and ends here. */
  async #inOneTransaction<Result>(
    manager: EntityManager | undefined,
    runner: Runner,
    write: (manager: EntityManager, runner: Runner) => Promise<Result>,
  ): Promise<Result> {
    if (manager === undefined) {
      return await despiteDeadlocks(() => this.outside.transaction(write));
    }
    if (await isInTransaction(manager)) return await write(manager, runner);
    return await despiteDeadlocks(() =>
      manager.transaction((ours) => write(ours, { ...runnerOf(ours), transaction: 'ours' })),
    );
  }
}
