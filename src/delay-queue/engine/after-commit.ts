import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { TransactionCommitEvent } from 'typeorm/subscriber/event/TransactionCommitEvent.js';
import type { TransactionRollbackEvent } from 'typeorm/subscriber/event/TransactionRollbackEvent.js';

/** What waits for the end of a transaction. */
interface Pending {
  committed: (() => void)[];
  rolledBack: (() => void)[];
}

/**
 * Runs things when the caller's transaction commits. A rolled-back one forgets them; a rolled-back
 * savepoint does not, and what it leaves behind does no harm: a claim finds no row.
 */
export class AfterCommit implements EntitySubscriberInterface {
  readonly #pending = new WeakMap<QueryRunner, Pending>();

  constructor(private readonly dataSource: DataSource) {}

  /** TypeORM makes a new list at each `initialize()`: whatever becomes the list has this in it. */
  start(): void {
    let list = this.dataSource.subscribers;
    list.push(this);
    Object.defineProperty(this.dataSource, 'subscribers', {
      configurable: true,
      enumerable: true,
      get: () => list,
      set: (next: EntitySubscriberInterface[]) => {
        list = next;
        list.push(this);
      },
    });
  }

  stop(): void {
    const value = this.dataSource.subscribers.filter((subscriber) => subscriber !== this);
    const property = { configurable: true, enumerable: true, writable: true, value };
    Object.defineProperty(this.dataSource, 'subscribers', property);
  }

  /** Runs `work` after the commit of the manager's transaction, or now if there is none. */
  onCommit(manager: EntityManager | undefined, work: () => void): void {
    const pending = this.#pendingOf(manager);
    if (pending === undefined) work();
    else pending.committed.push(work);
  }

  /** Runs `work` if the manager's transaction is rolled back; without one, never. */
  onRollback(manager: EntityManager | undefined, work: () => void): void {
    this.#pendingOf(manager)?.rolledBack.push(work);
  }

  afterTransactionCommit({ queryRunner }: TransactionCommitEvent): void {
    this.#end(queryRunner, 'committed');
  }

  afterTransactionRollback({ queryRunner }: TransactionRollbackEvent): void {
    this.#end(queryRunner, 'rolledBack');
  }

  #pendingOf(manager: EntityManager | undefined): Pending | undefined {
    const runner = manager?.queryRunner;
    if (!runner?.isTransactionActive) return undefined;
    let pending = this.#pending.get(runner);
    if (pending === undefined) {
      pending = { committed: [], rolledBack: [] };
      this.#pending.set(runner, pending);
    }
    return pending;
  }

  #end(runner: QueryRunner, how: keyof Pending): void {
    // Also called for a savepoint, while the transaction goes on.
    if (runner.isTransactionActive) return;
    const pending = this.#pending.get(runner);
    this.#pending.delete(runner);
    for (const work of pending?.[how] ?? []) work();
  }
}
