import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { TransactionCommitEvent } from 'typeorm/subscriber/event/TransactionCommitEvent.js';
import type { TransactionRollbackEvent } from 'typeorm/subscriber/event/TransactionRollbackEvent.js';

interface Pending {
  onCommit: () => void;
  onRollback: (() => void) | undefined;
}

/**
 * Runs things when the caller's transaction commits. A rolled-back one forgets them; a rolled-back
 * savepoint does not, and what it leaves behind does no harm: a claim finds no row.
 */
export class AfterCommit implements EntitySubscriberInterface {
  readonly #pending = new WeakMap<QueryRunner, Pending[]>();

  constructor(private readonly dataSource: DataSource) {}

  start(): void {
    this.dataSource.subscribers.push(this);
  }

  stop(): void {
    const index = this.dataSource.subscribers.indexOf(this);
    if (index >= 0) this.dataSource.subscribers.splice(index, 1);
  }

  /** Runs `onCommit` after the commit of the manager's transaction, or now if there is none. */
  run(manager: EntityManager | undefined, onCommit: () => void, onRollback?: () => void): void {
    const runner = manager?.queryRunner;
    if (!runner?.isTransactionActive) {
      onCommit();
      return;
    }
    const pending = this.#pending.get(runner);
    if (pending) pending.push({ onCommit, onRollback });
    else this.#pending.set(runner, [{ onCommit, onRollback }]);
  }

  afterTransactionCommit({ queryRunner }: TransactionCommitEvent): void {
    // Also called for a released savepoint, while the transaction goes on.
    if (queryRunner.isTransactionActive) return;
    for (const { onCommit } of this.#take(queryRunner)) onCommit();
  }

  afterTransactionRollback({ queryRunner }: TransactionRollbackEvent): void {
    if (queryRunner.isTransactionActive) return;
    for (const { onRollback } of this.#take(queryRunner)) onRollback?.();
  }

  #take(runner: QueryRunner): Pending[] {
    const pending = this.#pending.get(runner) ?? [];
    this.#pending.delete(runner);
    return pending;
  }
}
