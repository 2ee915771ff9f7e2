import type { QueryRunner } from 'typeorm';
import { DelayInvalidError } from '../delay.errors.js';

const OURS = 'the transaction belongs to the attempt: return to commit it, throw to roll it back';

/**
 * Watches what a handler does with the transaction that it was given. It may begin transactions in
 * it (savepoints) and has to end them; the outermost, and the connection, are not its to end. TypeORM
 * would not say: a COMMIT with a savepoint open only releases that, and nothing is committed.
 */
export class TransactionGuard {
  readonly #originals;
  #open = 0;

  constructor(private readonly runner: QueryRunner) {
    const startTransaction = runner.startTransaction.bind(runner);
    const commitTransaction = runner.commitTransaction.bind(runner);
    const rollbackTransaction = runner.rollbackTransaction.bind(runner);
    const release = runner.release.bind(runner);
    this.#originals = { startTransaction, commitTransaction, rollbackTransaction, release };
    runner.startTransaction = async (level) => {
      // From now on: a handler that does not wait for it may be gone before it has begun.
      this.#open += 1;
      try {
        await startTransaction(level);
      } catch (error) {
        this.#open -= 1;
        throw error;
      }
    };
    runner.commitTransaction = () => this.#end(commitTransaction);
    runner.rollbackTransaction = () => this.#end(rollbackTransaction);
    runner.release = () => Promise.reject(new DelayInvalidError('manager', OURS));
  }

  /** The handler has returned, or does not count any more: the runner is the engine's again. */
  lift(): void {
    Object.assign(this.runner, this.#originals);
  }

  /** Why the transaction must not be committed, though the handler returned as if all were well. */
  get objection(): Error | undefined {
    if (this.#open > 0) {
      return new DelayInvalidError(
        'manager',
        'the handler returned while a transaction that it began is open: await it, or end it',
      );
    }
    // A savepoint that cannot be made, after an error that was swallowed, rolls all of it back.
    return this.runner.isTransactionActive
      ? undefined
      : new DelayInvalidError('manager', 'the transaction was rolled back while the handler ran');
  }

  async #end(end: () => Promise<void>): Promise<void> {
    if (this.#open === 0) throw new DelayInvalidError('manager', OURS);
    await end();
    this.#open -= 1;
  }
}
