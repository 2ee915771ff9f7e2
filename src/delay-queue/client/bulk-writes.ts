import type { EntityManager } from 'typeorm';
import type { ChangeOptions, HistoryKept } from '../api/delay.js';
import type { MoveTo } from '../config/durations.js';
import { isRefusal, isTooMuch } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import type { Installation } from '../database/tables.js';
import type { DelayStore } from '../store/delay.store.js';
import { type Changed, ManyStore, type ManyVerb, type TargetList } from '../store/many.store.js';
import { inLockOrder, type NewDelay, type Placed } from '../store/rows/delay-rows.js';
import type { RowFilter } from '../store/sql/fragments/filter.js';
import { StatementSize } from '../store/statement-size.js';
import type { CallersTransaction } from '../transactions/callers-transaction.js';
import { inSmallerStatements, type Transactions } from '../transactions/transactions.js';
import { type ActingAttempt, actingCall } from '../transactions/handler-context.js';
import type { NameAndKey, Target } from './arguments.js';
import { withFirstInstants } from './first-instants.js';
import { type Announcements, answerOf, ownAttempt, type SelfReschedules } from './writes.js';

/** Most targets in one statement: those of a whole call. */
const TARGETS_MAX = 10_000;

type ManyResult<Verdict extends string = string> =
  | { verdict: Exclude<Verdict, 'absent'>; id: string; dueAt: Date }
  | { verdict: 'absent' };

/** Changes the delays that one call lists, in one transaction. Each gets its own verdict. */
export class ManyWrites {
  readonly #store: ManyStore;
  readonly #size = new StatementSize(TARGETS_MAX);

  constructor(
    { installation, kept }: { installation: Installation; kept: HistoryKept },
    private readonly selfReschedules: SelfReschedules,
    private readonly transactions: Transactions,
    private readonly announcements: Announcements,
  ) {
    this.#store = new ManyStore(installation, kept);
  }

  /**
   * @param to only for `reschedule`
   * @param first runs in the call's turn and may refuse it
   * @returns one result for each target, in their order
   * @throws DelayUnstableError outside of a caller's transaction; nothing was written then
   */
  async change<Verdict extends string>(
    verb: ManyVerb,
    targets: readonly Target[],
    options: ChangeOptions,
    to?: MoveTo,
    first?: () => Promise<void>,
  ): Promise<ManyResult<Verdict>[]> {
    const transaction = this.transactions.of(options, 'write');
    if (targets.length === 0) return [];
    const lists = listsOf(targets);
    const keyed = lists.flatMap(({ list }) => (list.of === 'keys' ? list.targets : []));
    const { changed, manager } = await transaction.inOrder(keyed, async () => {
      await first?.();
      return await inSmallerStatements(this.#size, transaction, targets.length, (most) =>
        this.transactions.run(transaction, async (joined, runner) => ({
          changed: await this.write(verb, inParts(lists, most), joined, runner, {
            to,
            by: options.by,
          }),
          manager: joined,
        })),
      );
    });
    this.announce(manager, changed.values());
    return targets.map((_, index) => {
      const one = changed.get(index) as Changed;
      if (one.verdict === 'absent') return { verdict: 'absent' };
      return answerOf(one.verdict as Exclude<Verdict, 'absent'>, one);
    });
  }

  /** @returns the change of each target, by its index */
  async write(
    verb: ManyVerb,
    lists: Iterable<List>,
    manager: EntityManager,
    runner: Runner,
    how: { to: MoveTo | undefined; filter?: RowFilter; by?: string | undefined },
  ): Promise<Map<number, Changed>> {
    const changed = new Map<number, Changed>();
    const own = actingCall(manager)?.attempts ?? [];
    for (const { list, indexes } of lists) {
      const answers = await this.#store.change(verb, runner, list, own, how);
      for (const [position, answer] of answers.entries()) {
        changed.set(indexes[position] as number, answer);
      }
    }
    const { to } = how;
    if (to !== undefined) await this.#moveOwn(changed, own, to, manager, runner);
    return changed;
  }

  /** A handler's own rows answer `running` because of its own attempts. They move on in place. */
  async #moveOwn(
    changed: Map<number, Changed>,
    acting: readonly ActingAttempt[],
    to: MoveTo,
    manager: EntityManager,
    runner: Runner,
  ): Promise<void> {
    for (const [index, { verdict, id }] of changed) {
      if (verdict !== 'running') continue;
      const own = acting.find((attempt) => attempt.id === id);
      if (own === undefined) continue;
      const moved = await this.selfReschedules.reschedule(own, manager, runner, to);
      if (moved === undefined) continue;
      changed.set(index, { ...moved, name: own.name, key: own.key, failed: false });
    }
  }

  announce(manager: EntityManager, all: Iterable<Changed>): void {
    const answeredAtMs = performance.now();
    for (const { name, key, failed, ...placed } of all) {
      if (name === null) continue;
      if (REMOVED.has(placed.verdict)) {
        this.announcements.cancelled(manager, { name, key }, placed.id);
      } else {
        this.announcements.written(manager, { name, key }, placed, { failed, answeredAtMs });
      }
    }
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

const REMOVED = new Set(['cancelled', 'discarded']);

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

/** Most delays in one statement: those of a whole call. */
const DELAYS_MAX = 10_000;

/** The rows in the order of the delays, and the manager of their transaction, if there is one. */
interface AllWritten {
  placed: readonly Placed[];
  manager?: EntityManager;
}

/** Writes the delays of one `scheduleMany`: all or none. */
export class AllOrNone {
  readonly #size = new StatementSize(DELAYS_MAX);

  constructor(
    private readonly store: DelayStore,
    private readonly selfReschedules: SelfReschedules,
    private readonly transactions: Transactions,
  ) {}

  /**
   * Uses one statement if the call has its own transaction, no key is taken, and no earlier
   * statement of that size was too large.
   * @param sorted in lock order
   * @param ready resolves when the payloads are there
   */
  async write(
    sorted: readonly NewDelay[],
    transaction: CallersTransaction,
    ready: Promise<void> | undefined,
  ): Promise<AllWritten> {
    const { manager, runner, inOrder } = transaction;
    const own = sorted.some((delay) => ownAttempt(manager, delay));
    return await inOrder(sorted, async () => {
      if (ready !== undefined) await ready;
      if (manager === undefined && sorted.length <= this.#size.now && !own) {
        const placed = await this.#atOnce(sorted, runner);
        if (placed !== undefined) return { placed };
      }
      return await inSmallerStatements(this.#size, transaction, sorted.length, (most) =>
        this.transactions.run(transaction, async (joined, its) => {
          const timed = await withFirstInstants(this.store, its, sorted);
          const placed: Placed[] = [];
          for (let from = 0; from < timed.length; from += most) {
            const part = timed.slice(from, from + most);
            placed.push(...(await this.selfReschedules.scheduleAll(joined, its, part)));
          }
          return { placed, manager: joined };
        }),
      );
    });
  }

  /** Returns undefined if a key is taken or a server limit was hit. Nothing was written then. */
  async #atOnce(
    sorted: readonly NewDelay[],
    runner: Runner,
  ): Promise<readonly Placed[] | undefined> {
    const timed = await withFirstInstants(this.store, runner, sorted);
    try {
      return await this.#size.run(sorted.length, () => this.store.placeAll(runner, timed));
    } catch (error) {
      if (sorted.length > 1 && isRefusal(error) && isTooMuch(error)) return undefined;
      throw error;
    }
  }
}
