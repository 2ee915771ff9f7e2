import type { QueryRunner } from 'typeorm';
import { keyText } from '../../store/wire/delay-rows.js';

/** What a call is about. */
interface Target {
  readonly name: string;
  readonly key: string | null;
}

/** Of a call that has a filter: which delays it is about is known only when it looks. */
type Targets = readonly Target[] | 'all';

/**
 * The calls of one transaction. Those about the same name and key take effect in the order in which they
 * were made, each after the answer of the one before it.
 *
 * Parallel branches of a caller share their transaction, and see what the others have not finished: one of
 * them could move, cancel or find a delay that a `scheduleMany` takes back a moment later.
 */
export class CallsInOrder {
  /** By key, a promise that resolves when the last call about that key is over. No open call: no entry. */
  readonly #last = new Map<string, Promise<void>>();
  /** The same of the last call about all. */
  #lastOfAll: Promise<void> | undefined;

  /** The calls of the runner's transaction; its savepoints share the runner. */
  static of(runner: QueryRunner): CallsInOrder {
    const known = byRunner.get(runner);
    if (known !== undefined) return known;
    const calls = new CallsInOrder();
    byRunner.set(runner, calls);
    return calls;
  }

  /** All keys of a call are taken at once, before anything is awaited: so no two calls wait for each other. */
  async run<Result>(targets: Targets, call: () => Promise<Result>): Promise<Result> {
    const keys = targets === 'all' ? [] : targets.filter(({ key }) => key !== null).map(keyText);
    const before =
      targets === 'all'
        ? [...this.#last.values()]
        : keys.flatMap((key) => this.#last.get(key) ?? []);
    if (this.#lastOfAll !== undefined) before.push(this.#lastOfAll);
    let leave!: () => void;
    const over = new Promise<void>((resolve) => {
      leave = resolve;
    });
    for (const key of keys) this.#last.set(key, over);
    if (targets === 'all') this.#lastOfAll = over;
    try {
      if (before.length > 0) await Promise.all(before);
      return await call();
    } finally {
      for (const key of keys) if (this.#last.get(key) === over) this.#last.delete(key);
      if (this.#lastOfAll === over) this.#lastOfAll = undefined;
      leave();
    }
  }
}

const byRunner = new WeakMap<QueryRunner, CallsInOrder>();
