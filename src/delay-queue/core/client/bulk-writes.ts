import type { ChangeOptions } from '../api/delay.js';
import type { MoveTo } from '../config/durations.js';
import type { ResolvedOptions } from '../config/options.js';
import type { Runner } from '../database/runner.js';
import { type Changed, ManyStore, type ManyVerb } from '../store/many.store.js';
import { inLockOrder, type NameAndKey, type Target } from '../store/rows/delay-rows.js';
import type { RowFilter } from '../store/filter.table.js';
import { chunks, StatementSize } from '../store/statement-size.js';
import type { Joined, Transactions } from '../transactions/transactions.js';
import type { ActingAttempt } from '../transactions/handler-context.js';
import type { Announced, Announcements } from './announcements.js';
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
    const lists = inLists(targets);
    const { changed, joined } = await transaction.inOrder(targets.filter(isKeyed), async () => {
      await first?.();
      return await this.#size.runAll(targets.length, transaction.joined !== undefined, (most) =>
        this.transactions.run(transaction, async (its, runner) => {
          const parts = lists.flatMap((list) => [...chunks(list, most)]);
          const how = { to, by: options.by };
          return { changed: await this.write(verb, parts, its, runner, how), joined: its };
        }),
      );
    });
    await this.announce(joined, changed.values());
    return targets.map((_, index) => changeResult<Verdict>(changed.get(index) as Changed));
  }

  /**
   * @param parts each by key or by id, in lock order
   * @returns the change of each target, by its index
   */
  async write(
    verb: ManyVerb,
    parts: readonly (readonly Listed[])[],
    joined: Joined,
    runner: Runner,
    how: { to: MoveTo | undefined; filter?: RowFilter; by?: string | undefined },
  ): Promise<Map<number, Changed>> {
    const changed = new Map<number, Changed>();
    const own = this.selfReschedules.attempts(joined);
    for (const part of parts) {
      const targets = part.map(({ target }) => target);
      const answers = await this.#store.change(verb, runner, targets, own, how);
      for (const [position, { index }] of part.entries()) {
        changed.set(index, answers[position] as Changed);
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

/** A target, and its index in the call. */
interface Listed<Of extends Target = Target> {
  target: Of;
  index: number;
}

const isKeyed = (target: Target): target is NameAndKey => !('id' in target);

/** Separates targets by key from those by id, each in lock order. */
function inLists(targets: readonly Target[]): Listed[][] {
  const keyed: Listed<NameAndKey>[] = [];
  const byId: Listed<{ id: number }>[] = [];
  for (const [index, target] of targets.entries()) {
    if (isKeyed(target)) keyed.push({ target, index });
    else byId.push({ target, index });
  }
  const { indexes } = inLockOrder(keyed.map(({ target }) => target));
  return [
    indexes.map((position) => keyed[position] as Listed),
    byId.toSorted((a, b) => a.target.id - b.target.id),
  ];
}
