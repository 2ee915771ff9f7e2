import type { ChangeOptions } from '../api/delay.js';
import type { MoveTo } from '../config/durations.js';
import type { ResolvedOptions } from '../config/options.js';
import type { Runner } from '../database/runner.js';
import { type Changed, ManyStore, type ManyVerb, type TargetList } from '../store/many.store.js';
import { inLockOrder, type NameAndKey } from '../store/rows/delay-rows.js';
import type { RowFilter } from '../store/filter.table.js';
import { StatementSize } from '../store/statement-size.js';
import type { Joined, Transactions } from '../transactions/transactions.js';
import type { ActingAttempt } from '../transactions/handler-context.js';
import type { Announced, Announcements } from './announcements.js';
import type { Target } from './arguments.js';
import { type ChangeResult, changeResult } from './results.js';
import type { SelfReschedules } from './self-reschedules.js';

/** Most targets in one statement: those of a whole call. */
const TARGETS_MAX = 10_000;

/** Changes the delays that one call lists, in one transaction. Each gets its own verdict. */
export class ManyWrites {
  readonly #store: ManyStore;
  readonly #size = new StatementSize(TARGETS_MAX);

  constructor(
    { installation, historyKept }: ResolvedOptions,
    private readonly selfReschedules: SelfReschedules,
    private readonly transactions: Transactions,
    private readonly announcements: Announcements,
  ) {
    this.#store = new ManyStore(installation, historyKept);
  }

  /**
   * @param to only for `reschedule`
   * @param first runs in the call's turn and may refuse it
   * @returns one result for each target, in their order
   */
  async change<Verdict extends string>(
    verb: ManyVerb,
    targets: readonly Target[],
    options: ChangeOptions,
    to?: MoveTo,
    first?: () => Promise<void>,
  ): Promise<ChangeResult<Verdict>[]> {
    const transaction = this.transactions.of(options, 'write');
    if (targets.length === 0) return [];
    const lists = listsOf(targets);
    const keyed = lists.flatMap(({ list }) => (list.of === 'keys' ? list.targets : []));
    const { changed, joined } = await transaction.inOrder(keyed, async () => {
      await first?.();
      const { length } = targets;
      return await this.transactions.runSized(
        this.#size,
        transaction,
        length,
        async (most, its, runner) => {
          const how = { to, by: options.by };
          return {
            changed: await this.write(verb, inParts(lists, most), its, runner, how),
            joined: its,
          };
        },
      );
    });
    await this.announce(joined, changed.values());
    return targets.map((_, index) => changeResult<Verdict>(changed.get(index) as Changed));
  }

  /** @returns the change of each target, by its index */
  async write(
    verb: ManyVerb,
    lists: Iterable<List>,
    joined: Joined,
    runner: Runner,
    how: { to: MoveTo | undefined; filter?: RowFilter; by?: string | undefined },
  ): Promise<Map<number, Changed>> {
    const changed = new Map<number, Changed>();
    const own = this.selfReschedules.attempts(joined);
    for (const { list, indexes } of lists) {
      const answers = await this.#store.change(verb, runner, list, own, how);
      for (const [position, answer] of answers.entries()) {
        changed.set(indexes[position] as number, answer);
      }
    }
    const { to } = how;
    if (to !== undefined) await this.#moveOwn(changed, own, to, joined, runner);
    return changed;
  }

  /** A handler's own rows answer `running` because of its own attempts. They move on in place. */
  async #moveOwn(
    changed: Map<number, Changed>,
    acting: readonly ActingAttempt[],
    to: MoveTo,
    joined: Joined,
    runner: Runner,
  ): Promise<void> {
    for (const [index, { verdict, id }] of changed) {
      if (verdict !== 'running') continue;
      const own = acting.find((attempt) => attempt.id === id);
      if (own === undefined) continue;
      const moved = await this.selfReschedules.reschedule(own, joined, runner, to);
      if (moved === undefined) continue;
      changed.set(index, { ...moved, name: own.name, key: own.key, failed: false });
    }
  }

  announce(joined: Joined, all: Iterable<Changed>): Promise<void> | undefined {
    const written: Announced[] = [];
    for (const { name, key, failed, ...placed } of all) {
      if (name !== null) written.push({ delay: { name, key }, placed, failed });
    }
    return this.announcements.announce(joined, written);
  }
}

/** Splits the lists, in order, into parts of at most `most` targets. */
function* inParts(lists: readonly List[], most: number): Generator<List> {
  for (const { list, indexes } of lists) {
    for (let from = 0; from < indexes.length; from += most) {
      const to = from + most;
      yield { list: partOf(list, from, to), indexes: indexes.slice(from, to) };
    }
  }
}

const partOf = (list: TargetList, from: number, to: number): TargetList =>
  list.of === 'ids'
    ? { of: 'ids', targets: list.targets.slice(from, to) }
    : { of: 'keys', targets: list.targets.slice(from, to) };

/** Targets of one kind, each with its index in the call. */
interface List {
  list: TargetList;
  indexes: readonly number[];
}

/** Separates targets by key from those by id. Both lists are in lock order. */
function listsOf(targets: readonly Target[]): List[] {
  const keyed: { target: NameAndKey; index: number }[] = [];
  const byId: { id: number; index: number }[] = [];
  for (const [index, target] of targets.entries()) {
    if ('id' in target) byId.push({ id: target.id, index });
    else keyed.push({ target, index });
  }
  const { sorted, indexes } = inLockOrder(keyed.map(({ target }) => target));
  const ids = byId.toSorted((a, b) => a.id - b.id);
  const lists: List[] = [
    {
      list: { of: 'keys', targets: sorted },
      indexes: indexes.map((position) => (keyed[position] as { index: number }).index),
    },
    { list: { of: 'ids', targets: ids }, indexes: ids.map(({ index }) => index) },
  ];
  return lists.filter(({ list }) => list.targets.length > 0);
}
