import { Inject, Injectable } from '@nestjs/common';
import type { DataSource, EntityManager } from 'typeorm';
import { DATA_SOURCE } from './database/chosen-data-source.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from './options/delay-queue.options.js';
import {
  type CallersTransaction,
  isInTransaction,
  runnerOf,
  transactionOf,
} from './producer/transaction/callers-transaction.js';
import type {
  CancelResult,
  RescheduleResult,
  RetryDeadResult,
  ScheduleResult,
} from './delay/verdicts.js';
import type {
  DelayInfo,
  DelayName,
  DelayRecord,
  GivenPayload,
  InTransaction,
  RescheduleTo,
  ScheduleItem,
  ScheduleOptions,
  When,
} from './delay/delay.js';
import { DelayShutdownError } from './delay/delay.errors.js';
import { Engine } from './runtime/engine.js';
import { infoOf, recordOf } from './producer/found.js';
import { OutsideTransactions } from './producer/transaction/outside-transactions.js';
import { ownAttempt, OwnRows } from './producer/own-key.js';
import { placementOf, placementsOf } from './producer/arguments.js';
import { CoalescedWrites } from './producer/coalescing/coalesced-writes.js';
import { BatchStore } from './store/batch.store.js';
import { despiteDeadlocks } from './store/deadlock.js';
import { DelayStore } from './store/delay.store.js';
import { inLockOrder } from './store/lock-order.js';
import type { Placed } from './store/wire/delay-rows.js';
import type { Runner } from './store/wire/runner.js';
import { checkKnownOptions } from './validation/known-options.js';
import { checkKey, checkName } from './validation/names.js';
import { parseScheduleOptions } from './validation/schedule-options.js';
import { parseRescheduleTo } from './validation/when.js';

/** Lines of one `history`. */
const HISTORY_MAX = 100;

/**
 * What producers call. Every write takes `manager` and then lives and dies with the caller's
 * transaction; without one it is a transaction of its own. Inside a transactional handler a write has to say
 * which: `ctx.manager`, or `'own'`.
 *
 * ```ts
 * await this.dataSource.transaction(async (manager) => {
 *   const order = await manager.save(Order, { ... });
 *   await this.delays.schedule(
 *     'order.close', { orderId: order.id }, { after: '30m', key: order.id, manager });
 * });
 * ```
 *
 * What is not acceptable throws `DelayInvalidError`, which names the field, before anything is
 * written. A caller in REPEATABLE READ can get Postgres's 40001, and two callers who touch two keys
 * in opposite orders 40P01, as with any rows.
 */
@Injectable()
export class DelayService {
  readonly #store: DelayStore;
  readonly #outside: OutsideTransactions;
  /** Of writes that are a transaction of their own. */
  readonly #alone: CallersTransaction;
  readonly #producer: CoalescedWrites;
  readonly #ownRows: OwnRows;
  /** Nest's hooks, for Nest alone. The first answers the calls made so far. */
  protected readonly beforeApplicationShutdown = () => this.#producer.drain();
  /**
   * Those of handlers too, which end between the two. TypeORM closes its pool in this one, and gives
   * connections back to it with their transactions open: a later call could land in one of those.
   */
  protected readonly onApplicationShutdown = () => this.#producer.close();

  /** @internal */
  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(DATA_SOURCE) private readonly dataSource: DataSource,
    private readonly engine: Engine,
  ) {
    const withHistory = options.historyKeepMs !== null;
    this.#store = new DelayStore(options.schema, withHistory, options.nodeName);
    this.#ownRows = new OwnRows(this.#store, engine.afterCommit);
    this.#outside = new OutsideTransactions(dataSource, engine);
    this.#alone = { manager: undefined, runner: this.#outside.writes };
    this.#producer = new CoalescedWrites({
      alone: this.#store,
      together: new BatchStore(options.schema, withHistory),
      runners: { alone: this.#outside.writes, together: this.#outside.together },
      drainWithinMs: options.drainTimeoutMs,
    });
  }

  /**
   * Schedules one delay. With a `key` there is one live delay per (name, key), and `onConflict` says
   * what becomes of one that waits already; a dead letter of that key is revived in any case.
   *
   * In a handler, scheduling its own name and key moves the very row on: recurring work.
   *
   * @param payload plain JSON, up to `payloadBytesMax` (64 KiB)
   * @returns the verdict with `id` and `dueAt`; a row that shows the deadline stores that `dueAt`
   * @throws DelayInvalidError, DelayConflictError (`onConflict: 'error'`), DelayUnstableError
   */
  async schedule<N extends DelayName, P = unknown>(
    name: N,
    payload: GivenPayload<N, P>,
    options: When & ScheduleOptions & InTransaction,
  ): Promise<ScheduleResult> {
    const given = parseScheduleOptions(options);
    const placement = placementOf(name, payload, given, this.options.payloadBytesMax);
    const { manager, runner } = this.#transactionOf(options, 'write');
    const own = ownAttempt(manager, placement);
    const placed =
      (own && (await this.#ownRows.placeOwn(own, manager, runner, placement))) ??
      (manager !== undefined || own
        ? (await this.#store.place(runner, [placement]))[0]
        : await this.#producer.schedule(placement));
    return this.#announced(manager, name, placed as Placed<ScheduleResult['verdict']>);
  }

  /**
   * Schedules up to 10,000 delays, all or none, in one statement or, where keys are taken, a few.
   *
   * @returns one result per item, in the order of the items
   * @throws DelayInvalidError also for a key that stands twice; DelayConflictError
   */
  async scheduleMany(
    items: readonly ScheduleItem[],
    options: InTransaction = {},
  ): Promise<ScheduleResult[]> {
    checkKnownOptions(options, 'options', ['manager']);
    const placements = placementsOf(items, this.options.payloadBytesMax);
    if (placements.length === 0) return [];
    const sorted = inLockOrder(placements);
    const { manager, runner } = this.#transactionOf(options, 'write');
    const answer = (placed: readonly Placed[], within?: EntityManager): ScheduleResult[] => {
      const results = Array.from<ScheduleResult>({ length: placements.length });
      const answeredAtMs = performance.now();
      for (const [position, { name }] of sorted.sorted.entries()) {
        const one = placed[position] as Placed<ScheduleResult['verdict']>;
        const result = this.#announced(within, name, one, { answeredAtMs });
        results[sorted.indexes[position] as number] = result;
      }
      return results;
    };
    if (manager === undefined && !placements.some((placement) => ownAttempt(manager, placement))) {
      const placed = await this.#store.placeAll(runner, sorted.sorted);
      if (placed !== undefined) return answer(placed);
    }
    const write = async (within: EntityManager, its: Runner): Promise<ScheduleResult[]> =>
      answer(await this.#ownRows.place(within, its, sorted.sorted), within);
    if (manager !== undefined) {
      if (await isInTransaction(manager)) return write(manager, runner);
      return despiteDeadlocks(() =>
        manager.transaction((ours) => write(ours, { ...runnerOf(ours), transaction: 'ours' })),
      );
    }
    return despiteDeadlocks(() => this.#outside.transaction(write));
  }

  /** Removes a delay that no attempt holds, dead letters too. See {@link CancelResult}. */
  async cancel(name: DelayName, key: string, options: InTransaction = {}): Promise<CancelResult> {
    const slot = slotFrom(name, key, options);
    const { manager, runner } = this.#transactionOf(options, 'write');
    const own = ownAttempt(manager, slot);
    const { verdict, id, dueMs } =
      manager !== undefined || own
        ? await this.#store.cancel(runner, slot.name, slot.key, own)
        : ((await this.#producer.cancel(slot)) as Placed<CancelResult['verdict']>);
    if (verdict === 'absent') return { verdict };
    if (verdict === 'cancelled') {
      this.engine.afterCommit.onCommit(manager, (certain) => {
        // A row that may stand has to be looked at, whatever it costs.
        if (certain) this.engine.disarm(id);
      });
    }
    return { verdict, id: String(id), dueAt: new Date(dueMs) };
  }

  /**
   * Moves a delay that no attempt holds to another time and gives it all its attempts again.
   * `extendBy` counts from its present due time. See {@link RescheduleResult}.
   */
  async reschedule(
    name: DelayName,
    key: string,
    to: RescheduleTo,
    options: InTransaction = {},
  ): Promise<RescheduleResult> {
    const slot = slotFrom(name, key, options);
    const move = parseRescheduleTo(checkKnownOptions(to, 'to', ['after', 'at', 'extendBy']));
    const { manager, runner } = this.#transactionOf(options, 'write');
    const change = { verdict: 'rescheduled', payload: null, maxAttempts: null } as const;
    const own = ownAttempt(manager, slot);
    const moved = own && (await this.#ownRows.moveOn(own, manager, runner, move, change));
    const placed =
      moved ??
      (manager !== undefined || own
        ? await this.#store.reschedule(runner, slot.name, slot.key, move)
        : await this.#producer.reschedule({ ...slot, to: move }));
    if (placed.verdict === 'absent') return { verdict: 'absent' };
    return this.#announced(manager, slot.name, placed as Placed<'rescheduled' | 'running'>);
  }

  /** The live delay of that key, dead letters included; null when there is none. */
  async find<N extends DelayName>(
    name: N,
    key: string,
    options: InTransaction = {},
  ): Promise<DelayInfo<N> | null> {
    const slot = slotFrom(name, key, options);
    const runner = this.#readsOf(options);
    const row = await this.#store.find(runner, slot.name, slot.key);
    return row === undefined ? null : infoOf(name, row);
  }

  /** What became of the delays of that key, newest first, up to 100; kept as long as `history` says. */
  async history(name: DelayName, key: string, options: InTransaction = {}): Promise<DelayRecord[]> {
    const slot = slotFrom(name, key, options);
    const runner = this.#readsOf(options);
    const rows = await this.#store.history(runner, slot.name, slot.key, HISTORY_MAX);
    return rows.map(recordOf);
  }

  /** Makes the dead letter of that key due now, with all its attempts. */
  async retryDead(
    name: DelayName,
    key: string,
    options: InTransaction = {},
  ): Promise<RetryDeadResult> {
    const slot = slotFrom(name, key, options);
    const { manager, runner } = this.#transactionOf(options, 'write');
    const placed = await this.#store.retryDead(runner, slot.name, slot.key);
    if (placed === undefined) return { verdict: 'absent' };
    return this.#announced(manager, slot.name, placed as Placed<'retried'>, { failed: true });
  }

  /** @throws DelayShutdownError without a manager, once TypeORM closes its pool */
  #transactionOf(options: InTransaction, kind: 'read' | 'write'): CallersTransaction {
    const transaction = transactionOf(this.dataSource, options, kind);
    if (transaction !== undefined) return transaction;
    if (this.#producer.isClosed) throw new DelayShutdownError();
    return this.#alone;
  }

  #readsOf(options: InTransaction): Runner {
    const { manager, runner } = this.#transactionOf(options, 'read');
    return manager === undefined ? this.#outside.reads : runner;
  }

  /** @param failed it keeps its `last_error`, and so runs alone */
  #announced<Verdict extends string>(
    manager: EntityManager | undefined,
    name: string,
    placed: Placed<Verdict>,
    { failed = false, answeredAtMs = performance.now() } = {},
  ): { verdict: Verdict; id: string; dueAt: Date } {
    const { verdict, id, epoch, wakeMs, nowMs, dueMs } = placed;
    if (epoch !== null && wakeMs !== null) {
      const wake = { id, epoch, name, wakeMs, suspect: false, failed };
      const written = { databaseMs: nowMs, monotonicMs: answeredAtMs };
      this.engine.afterCommit.onCommit(manager, (certain) =>
        this.engine.announce(wake, written, certain),
      );
    }
    return { verdict, id: String(id), dueAt: new Date(dueMs) };
  }
}

function slotFrom(name: unknown, key: unknown, options: unknown): { name: string; key: string } {
  checkKnownOptions(options, 'options', ['manager']);
  return { name: checkName(name), key: checkKey(key) };
}
