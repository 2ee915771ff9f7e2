import type { EntityManager } from 'typeorm';
import type { HistoryKept, InTransaction } from '../api/delay.js';
import type { MoveTo } from '../config/durations.js';
import { isRefusal, isTooMuch } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import type { Installation } from '../database/tables.js';
import { firstMsOf } from '../recurrence/recurrence.js';
import type { DelayStore } from '../store/delay.store.js';
import { type Changed, ManyStore, type ManyVerb, type TargetList } from '../store/many.store.js';
import { inLockOrder, type NewDelay, type Placed, type Wake } from '../store/rows/delay-rows.js';
import type { RowFilter } from '../store/sql/fragments/filter.js';
import { StatementSize } from '../store/statement-size.js';
import type { CallersTransaction } from '../transactions/callers-transaction.js';
import type { AfterCommit } from '../transactions/commit-hooks.js';
import { type ActingAttempt, actingCall } from '../transactions/handler-context.js';
import { inSmallerStatements, type Transactions } from '../transactions/transactions.js';
import type { NameAndKey, Target } from './arguments.js';
import { answerOf, fieldsOfAll, translatable } from './results.js';
import { ownAttempt, type SelfReschedules } from './self-reschedule.js';

/** The engine, which is notified of committed writes. */
export interface CommittedWrites {
  /**
   * A delay was written.
   * @param written when, on the database's clock (as `wakeMs`) and by `performance.now()`
   * @param certain false if a rollback to a savepoint may have undone the write
   */
  announce(
    wake: Wake,
    written: { databaseMs: number; monotonicMs: number },
    certain: boolean,
  ): void;
  /** The row with that id is gone. */
  disarm(id: number): void;
  pausesChanged(): void;
  /** A running key is to run once more. */
  rerunAsked(): void;
}

/** A committed write, as a trace reports it. */
export interface CommittedWrite {
  id: number;
  name: string;
  key: string | null;
  /** The verdict that the caller got. */
  verdict: string;
  /** Null when the delay no longer waits. */
  wakeMs: number | null;
  /** As in {@link CommittedWrites}. */
  certain: boolean;
}

/** Traces the writes of selected delays. */
export interface WritesTrace {
  readonly isOn: boolean;
  follows(name: string, key: string | null): boolean;
  committed(write: CommittedWrite): void;
}

type AnnouncedTarget = Pick<CommittedWrite, 'name' | 'key'> & { group?: string | null };

/** Notifies the engine and the trace of writes once their transaction has committed. */
export class Announcements {
  constructor(
    private readonly afterCommit: AfterCommit,
    private readonly heard: CommittedWrites,
    private readonly trace: WritesTrace | undefined,
  ) {}

  /**
   * @param failed the delay keeps its `last_error`, and so runs alone
   * @param answeredAtMs `performance.now()` at the answer; default: now
   */
  written(
    manager: EntityManager | undefined,
    target: AnnouncedTarget,
    { verdict, id, epoch, wakeMs, nowMs, group = target.group ?? null }: Placed,
    { failed = false, answeredAtMs = performance.now() }: WrittenOptions = {},
  ): void {
    if (epoch === null || wakeMs === null) return;
    const wake = { id, epoch, name: target.name, group, wakeMs, stalled: false, failed };
    const written = { databaseMs: nowMs, monotonicMs: answeredAtMs };
    this.afterCommit.onCommit(manager, (certain) => this.heard.announce(wake, written, certain));
    this.#follow(manager, target, { id, verdict, wakeMs });
  }

  cancelled(manager: EntityManager | undefined, target: AnnouncedTarget, id: number): void {
    this.afterCommit.onCommit(manager, (certain) => {
      // Otherwise the cancel may have been undone and the row may still exist: its wake stays.
      if (certain) this.heard.disarm(id);
    });
    this.#follow(manager, target, { id, verdict: 'cancelled', wakeMs: null });
  }

  rerun(manager: EntityManager | undefined, target: AnnouncedTarget, id: number): void {
    this.afterCommit.onCommit(manager, () => this.heard.rerunAsked());
    this.#follow(manager, target, { id, verdict: 'rerun', wakeMs: null });
  }

  #follow(
    manager: EntityManager | undefined,
    { name, key }: AnnouncedTarget,
    write: Pick<CommittedWrite, 'id' | 'verdict' | 'wakeMs'>,
  ): void {
    const { trace } = this;
    if (!trace?.isOn || !trace.follows(name, key)) return;
    this.afterCommit.onCommit(manager, (certain) =>
      trace.committed({ name, key, ...write, certain }),
    );
  }
}

interface WrittenOptions {
  failed?: boolean;
  answeredAtMs?: number | undefined;
}

/** Most targets in one statement: those of a whole call. */
const TARGETS_MAX = 10_000;

type ManyResult<Verdict extends string = string> =
  { verdict: Exclude<Verdict, 'absent'>; id: string; dueAt: Date } | { verdict: 'absent' };

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
    options: InTransaction,
    to?: MoveTo,
    first?: () => Promise<void>,
  ): Promise<ManyResult<Verdict>[]> {
    const transaction = this.transactions.of(options, 'write');
    if (targets.length === 0) return [];
    const lists = listsOf(targets);
    const keyed = lists.flatMap(({ list }) => (list.of === 'keys' ? list.targets : []));
    const writing = transaction.inOrder(keyed, async () => {
      await first?.();
      return await inSmallerStatements(this.#size, transaction, targets.length, (most) =>
        this.transactions.run(transaction, async (joined, runner) => ({
          changed: await this.write(verb, inParts(lists, most), joined, runner, { to }),
          manager: joined,
        })),
      );
    });
    const { changed, manager } = await translatable(writing, () =>
      fieldsOfAll('targets', targets, (target) => ('key' in target ? { key: target.key } : {})),
    );
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
    how: { to: MoveTo | undefined; filter?: RowFilter },
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

/** Whether the delay recurs by cron and its call gives no first instant. */
export const needsClock = ({ repeat = null }: NewDelay): boolean =>
  repeat !== null && !repeat.hasFirst && 'cron' in repeat.how;

/**
 * Sets the due time of delays that recur by cron and have no first instant. Reads the database's
 * clock, once per call: a node that only schedules keeps no estimate of it, and could miss
 * tonight's instant by its own clock.
 */
export async function withFirstInstants(
  store: Pick<DelayStore, 'nowMs'>,
  runner: Runner,
  delays: readonly NewDelay[],
): Promise<readonly NewDelay[]> {
  if (!delays.some(needsClock)) return delays;
  const nowMs = await store.nowMs(runner);
  // Many delays of one call recur alike.
  const known = new Map<string, string>();
  return delays.map((delay) => {
    const { repeat = null } = delay;
    if (repeat === null || !needsClock(delay)) return delay;
    const text = JSON.stringify(repeat.how);
    const iso = known.get(text) ?? new Date(firstMsOf(repeat.how, nowMs)).toISOString();
    known.set(text, iso);
    return { ...delay, to: { kind: 'at', iso } };
  });
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
   */
  async write(sorted: readonly NewDelay[], transaction: CallersTransaction): Promise<AllWritten> {
    const { manager, runner, inOrder } = transaction;
    if (
      manager === undefined &&
      sorted.length <= this.#size.now &&
      !sorted.some((delay) => ownAttempt(manager, delay))
    ) {
      const placed = await inOrder(sorted, () => this.#atOnce(sorted, runner));
      if (placed !== undefined) return { placed };
    }
    return await inOrder(sorted, () =>
      inSmallerStatements(this.#size, transaction, sorted.length, (most) =>
        this.transactions.run(transaction, async (joined, its) => {
          const timed = await withFirstInstants(this.store, its, sorted);
          const placed: Placed[] = [];
          for (let from = 0; from < timed.length; from += most) {
            const part = timed.slice(from, from + most);
            placed.push(...(await this.selfReschedules.scheduleAll(joined, its, part)));
          }
          return { placed, manager: joined };
        }),
      ),
    );
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
