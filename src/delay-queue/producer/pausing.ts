import type { InTransaction } from '../delay/delay.js';
import { DelayInvalidError } from '../delay/delay.errors.js';
import type { DelayPause } from '../delay/pause.js';
import { type Pausable, PauseStore } from '../store/limits/pause.store.js';
import { PAUSES_MAX } from '../store/sql/pauses/pauses.sql.js';
import type { DueTime } from '../validation/when.js';
import { pauseOf } from './results.js';
import type { CallersTransaction } from './transaction/callers-transaction.js';
import type { AfterCommit } from './transaction/after-commit.js';
import type { Installation } from '../store/tables/schema.js';
import type { Transactions } from './transaction/transactions.js';
import { translatable } from './untranslatable.js';

/** Pauses names and groups on all nodes, and lets them go on. */
export class Pausing {
  readonly #store: PauseStore;

  /** @param onChanged told when a change is committed */
  constructor(
    installation: Installation,
    private readonly transactions: Transactions,
    private readonly afterCommit: AfterCommit,
    private readonly onChanged: () => void,
  ) {
    this.#store = new PauseStore(installation);
  }

  /** @throws DelayInvalidError when there are too many */
  async pause(
    what: Pausable,
    reason: string | null,
    until: DueTime | null,
    options: InTransaction,
  ): Promise<DelayPause> {
    const transaction = this.transactions.of(options, 'write');
    const pausing = inOrder(transaction, what, () =>
      this.#store.pause(transaction.runner, what, reason, until),
    );
    const row = await translatable(pausing, () => ({ group: what.group, reason }));
    if (row === undefined) {
      throw new DelayInvalidError(
        what.group === null ? 'name' : 'group',
        `cannot be paused: there are ${PAUSES_MAX} pauses, resume some first`,
      );
    }
    this.#told(transaction);
    return pauseOf(row);
  }

  async resume(what: Pausable, options: InTransaction): Promise<DelayPause | null> {
    const transaction = this.transactions.of(options, 'write');
    const resuming = inOrder(transaction, what, () => this.#store.resume(transaction.runner, what));
    const row = await translatable(resuming, () => ({ group: what.group }));
    this.#told(transaction);
    return row === undefined ? null : pauseOf(row);
  }

  async list(options: InTransaction): Promise<DelayPause[]> {
    const { runner, inOrder: run } = this.transactions.of(options, 'read');
    return (await run([], () => this.#store.list(runner))).map(pauseOf);
  }

  #told({ manager }: CallersTransaction): void {
    this.afterCommit.onCommit(manager, () => this.onChanged());
  }
}

/** In a transaction calls about the same name follow one another. */
const inOrder = <Result>(
  { inOrder: run }: CallersTransaction,
  { name, group }: Pausable,
  call: () => Promise<Result>,
): Promise<Result> => run([{ name, key: `pause ${group ?? ''}` }], call);
