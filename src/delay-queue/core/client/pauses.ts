import type { InTransaction } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import type { DelayPause } from '../api/selection.js';
import type { Installation } from '../database/tables.js';
import { type Pausable, PauseStore } from '../store/pause.store.js';
import { PAUSES_MAX } from '../store/sql/nodes.sql.js';
import type { CallersTransaction, Transactions } from '../transactions/transactions.js';
import type { CommittedWrites } from './announcements.js';

/** Pauses and resumes names and groups, on all nodes. */
export class Pausing {
  readonly #store: PauseStore;

  constructor(
    installation: Installation,
    private readonly transactions: Transactions,
    private readonly engine: CommittedWrites,
  ) {
    this.#store = new PauseStore(installation);
  }

  /** @throws DelayInvalidError when `until` has passed, or when there are too many */
  async pause(
    what: Pausable,
    how: Parameters<PauseStore['pause']>[2],
    options: InTransaction,
  ): Promise<DelayPause> {
    const transaction = this.transactions.of(options, 'write');
    const row = await inOrder(transaction, what, () =>
      this.#store.pause(transaction.runner, what, how),
    );
    if (row === undefined) {
      const pauses = await inOrder(transaction, what, () => this.#store.list(transaction.runner));
      if (pauses.length < PAUSES_MAX) {
        throw new DelayInvalidError('until', 'has passed: `resume` ends a pause at once');
      }
      throw new DelayInvalidError(
        what.group === null ? 'name' : 'group',
        `cannot be paused: there are ${PAUSES_MAX} pauses, resume some first`,
      );
    }
    this.#told(transaction);
    return row;
  }

  async resume(what: Pausable, options: InTransaction): Promise<DelayPause | null> {
    const transaction = this.transactions.of(options, 'write');
    const row = await inOrder(transaction, what, () =>
      this.#store.resume(transaction.runner, what),
    );
    this.#told(transaction);
    return row ?? null;
  }

  async list(options: InTransaction): Promise<DelayPause[]> {
    const { runner, inOrder: run } = this.transactions.of(options, 'read');
    return await run([], () => this.#store.list(runner));
  }

  #told({ joined }: CallersTransaction): void {
    this.engine.afterCommit.onCommit(joined, () => this.engine.pausesChanged());
  }
}

/** Within a transaction, calls about the same name run one after the other. */
const inOrder = <Result>(
  { inOrder: run }: CallersTransaction,
  { name, group }: Pausable,
  call: () => Promise<Result>,
): Promise<Result> => run([{ name, key: `pause ${group ?? ''}` }], call);
