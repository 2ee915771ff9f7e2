import type { QueryRunner } from 'typeorm';
import { keyText } from '../store/rows/delay-rows.js';

interface TurnTarget {
  readonly name: string;
  readonly key: string | null;
}

/** `all`: a call with a filter, whose delays are known only once it reads. */
type TurnTargets = readonly TurnTarget[] | 'all';

/** A call's place among those about its keys. */
export interface Turn {
  /** Resolves when the calls before it are over; undefined: there are none. */
  readonly before: Promise<unknown> | undefined;
  /** Ends the turn. Also before it has come: later calls then wait for the earlier ones alone. */
  readonly leave: () => void;
}

/**
 * Orders the calls of one transaction, or those that have none. Calls about the same name and key
 * take effect in the order in which they were made, each after the answer of the one before it.
 *
 * Parallel branches of a caller see each other's unfinished work: otherwise one could move, cancel
 * or find a delay that a `scheduleMany` is about to undo.
 */
export class CallsInOrder {
  /** By key, resolves when its last call is over. Without open calls, there is no entry. */
  readonly #last = new Map<string, Promise<void>>();
  /** Resolves when the last call about all delays is over. */
  #lastOfAll: Promise<void> | undefined;

  /** One instance per runner: savepoints share the runner. */
  static of(runner: QueryRunner): CallsInOrder {
    const known = byRunner.get(runner);
    if (known !== undefined) return known;
    const calls = new CallsInOrder();
    byRunner.set(runner, calls);
    return calls;
  }

  /** Takes all keys of a call at once: so no two calls wait for each other. */
  enter(targets: TurnTargets): Turn {
    const keys = targets === 'all' ? [] : targets.filter(({ key }) => key !== null).map(keyText);
    const before =
      targets === 'all'
        ? [...this.#last.values()]
        : keys.flatMap((key) => this.#last.get(key) ?? []);
    if (this.#lastOfAll !== undefined) before.push(this.#lastOfAll);
    let resolve!: () => void;
    const over = new Promise<void>((resolved) => {
      resolve = resolved;
    });
    for (const key of keys) this.#last.set(key, over);
    if (targets === 'all') this.#lastOfAll = over;
    const end = (): void => {
      for (const key of keys) if (this.#last.get(key) === over) this.#last.delete(key);
      if (this.#lastOfAll === over) this.#lastOfAll = undefined;
      resolve();
    };
    if (before.length === 0) return { before: undefined, leave: end };
    const all = Promise.all(before);
    return { before: all, leave: () => void all.then(end) };
  }

  async run<Result>(targets: TurnTargets, call: () => Promise<Result>): Promise<Result> {
    const { before, leave } = this.enter(targets);
    try {
      if (before !== undefined) await before;
      return await call();
    } finally {
      leave();
    }
  }
}

const byRunner = new WeakMap<QueryRunner, CallsInOrder>();
