import { keyText } from '../../../src/delay-queue/store/wire/delay-rows.js';
import type { Transaction } from './transaction.js';
import type { Ended, NodeRow, Row } from './row.js';

/** What one committed statement or transaction did to one row. */
export interface Change {
  /** The statement that did it: `claim`, `settle`, … */
  by: string;
  before: Row | undefined;
  after: Row | undefined;
}

/** What a transaction did, told to whoever watches at its commit. */
export interface Commit {
  changes: readonly Change[];
  ended: readonly Ended[];
  effects: readonly Effect[];
  session: number;
}

/** What the simulated application writes beside the delays: a line without any unique key. */
export interface Effect {
  id: number;
  epoch: number;
}

/** What is committed, who holds which lock, and who waits for whom. */
export class Tables {
  readonly rows = new Map<number, Row>();
  readonly history: Ended[] = [];
  readonly nodes = new Map<string, NodeRow>();
  readonly effects: Effect[] = [];
  /** Row locks, by id. */
  readonly lockedBy = new Map<number, Transaction>();
  /** Keys that an uncommitted row has taken: the unique index lets others wait for it. */
  readonly keyTakenBy = new Map<string, Transaction>();
  /** Transactions that have begun. */
  begun = 0;
  readonly #idByKey = new Map<string, number>();
  #lastId = 0;

  /** A sequence never goes back, also not for what is rolled back. */
  nextId(): number {
    return ++this.#lastId;
  }

  byKey(name: string, key: string): Row | undefined {
    const id = this.#idByKey.get(keyText({ name, key }));
    return id === undefined ? undefined : this.rows.get(id);
  }

  write(id: number, row: Row | undefined): void {
    const before = this.rows.get(id);
    if (before && before.key !== null) {
      const slot = keyText(before);
      if (this.#idByKey.get(slot) === id) this.#idByKey.delete(slot);
    }
    if (row === undefined) {
      this.rows.delete(id);
      return;
    }
    this.rows.set(id, row);
    if (row.key !== null) this.#idByKey.set(keyText(row), id);
  }
}
