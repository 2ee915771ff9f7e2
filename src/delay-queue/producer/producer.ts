import type { DataSource, EntityManager } from 'typeorm';
import type {
  CancelResult,
  RescheduleResult,
  RetryDeadResult,
  ScheduleResult,
} from '../delay/verdicts.js';
import type { DelayInfo, DelayName, DelayRecord, InTransaction } from '../delay/delay.js';
import { DelayShutdownError } from '../delay/delay.errors.js';
import type { CallersPool } from '../database/own-pool.js';
import { BatchStore } from '../store/batch.store.js';
import { despiteDeadlocks } from '../store/deadlock.js';
import { DelayStore } from '../store/delay.store.js';
import { inLockOrder } from '../store/lock-order.js';
import type { Placed, Placement as NewDelay } from '../store/wire/delay-rows.js';
import type { Runner } from '../store/wire/runner.js';
import type { MoveTo } from '../validation/when.js';
import { Announcements, type CommittedWrites } from './announcements.js';
import type { NameAndKey } from './arguments.js';
import { CoalescedWrites } from './coalescing/coalesced-writes.js';
import { answerOf, infoOf, recordOf } from './results.js';
import { ownAttempt, OwnKeyWrites } from './own-key.js';
import type { AfterCommit } from './transaction/after-commit.js';
import {
  type CallersTransaction,
  isInTransaction,
  runnerOf,
  transactionOf,
} from './transaction/callers-transaction.js';
import { OutsideTransactions } from './transaction/outside-transactions.js';

/** Lines of one `history`. */
const HISTORY_MAX = 100;

/** What the producer uses of the engine. */
export interface ProducersEngine extends CallersPool, CommittedWrites {
  readonly afterCommit: AfterCommit;
}

export interface ProducerSettings {
  schema: string;
  withHistory: boolean;
  nodeName: string;
  /** How long a shutdown waits for answers. */
  drainWithinMs: number;
}

/**
 * Turns calls into rows, each in the transaction that its caller chose. Arguments are checked before.
 *
 * Each method awaits what it returns: only so the stack of an error leads to the caller.
 */
export class Producer {
  readonly #store: DelayStore;
  readonly #outside: OutsideTransactions;
  /** Of writes that are a transaction of their own. */
  readonly #alone: CallersTransaction;
  readonly #coalesced: CoalescedWrites;
  readonly #ownKey: OwnKeyWrites;
  readonly #announcements: Announcements;

  constructor(
    private readonly dataSource: DataSource,
    engine: ProducersEngine,
    { schema, withHistory, nodeName, drainWithinMs }: ProducerSettings,
  ) {
    this.#store = new DelayStore(schema, withHistory, nodeName);
    this.#ownKey = new OwnKeyWrites(this.#store, engine.afterCommit);
    this.#announcements = new Announcements(engine.afterCommit, engine);
    this.#outside = new OutsideTransactions(dataSource, engine);
    this.#alone = { manager: undefined, runner: this.#outside.writes };
    this.#coalesced = new CoalescedWrites({
      alone: this.#store,
      together: new BatchStore(schema, withHistory),
      runners: { alone: this.#outside.writes, together: this.#outside.together },
      drainWithinMs,
    });
  }

  async schedule(delay: NewDelay, options: InTransaction): Promise<ScheduleResult> {
    const { manager, runner } = this.#transactionOf(options, 'write');
    const own = ownAttempt(manager, delay);
    const placed =
      (own && (await this.#ownKey.schedule(own, manager, runner, delay))) ??
      (manager !== undefined || own
        ? (await this.#store.place(runner, [delay]))[0]
        : await this.#coalesced.schedule(delay));
    return this.#scheduled(manager, delay, placed as Placed);
  }

  /** All or none; one statement, where no key is taken. */
  async scheduleMany(
    delays: readonly NewDelay[],
    options: InTransaction,
  ): Promise<ScheduleResult[]> {
    if (delays.length === 0) return [];
    const { sorted, indexes } = inLockOrder(delays);
    const { manager, runner } = this.#transactionOf(options, 'write');
    const answer = (placed: readonly Placed[], joined?: EntityManager): ScheduleResult[] => {
      const results = Array.from<ScheduleResult>({ length: delays.length });
      const answeredAtMs = performance.now();
      for (const [position, delay] of sorted.entries()) {
        const one = placed[position] as Placed;
        results[indexes[position] as number] = this.#scheduled(joined, delay, one, answeredAtMs);
      }
      return results;
    };
    if (manager === undefined && !delays.some((delay) => ownAttempt(manager, delay))) {
      const placed = await this.#store.placeAll(runner, sorted);
      if (placed !== undefined) return answer(placed);
    }
    return await this.#inOneTransaction(manager, runner, async (joined, its) =>
      answer(await this.#ownKey.scheduleAll(joined, its, sorted), joined),
    );
  }

  async cancel(target: NameAndKey, options: InTransaction): Promise<CancelResult> {
    const { manager, runner } = this.#transactionOf(options, 'write');
    const own = ownAttempt(manager, target);
    const placed =
      manager !== undefined || own
        ? await this.#store.cancel(runner, target.name, target.key, own)
        : ((await this.#coalesced.cancel(target)) as Placed<CancelResult['verdict']>);
    const { verdict } = placed;
    if (verdict === 'absent') return { verdict };
    if (verdict === 'cancelled') this.#announcements.cancelled(manager, placed.id);
    return answerOf(verdict, placed);
  }

  async reschedule(
    target: NameAndKey,
    to: MoveTo,
    options: InTransaction,
  ): Promise<RescheduleResult> {
    const { manager, runner } = this.#transactionOf(options, 'write');
    const change = { verdict: 'rescheduled', payload: null, maxAttempts: null } as const;
    const own = ownAttempt(manager, target);
    const moved = own && (await this.#ownKey.moveOn(own, manager, runner, to, change));
    const placed =
      moved ??
      (manager !== undefined || own
        ? await this.#store.reschedule(runner, target.name, target.key, to)
        : ((await this.#coalesced.reschedule({ ...target, to })) as Placed<
            RescheduleResult['verdict']
          >));
    const { verdict } = placed;
    if (verdict === 'absent') return { verdict };
    this.#announcements.written(manager, target.name, placed);
    return answerOf(verdict, placed);
  }

  async retryDead(target: NameAndKey, options: InTransaction): Promise<RetryDeadResult> {
    const { manager, runner } = this.#transactionOf(options, 'write');
    const placed = await this.#store.retryDead(runner, target.name, target.key);
    if (placed === undefined) return { verdict: 'absent' };
    this.#announcements.written(manager, target.name, placed, { failed: true });
    return answerOf('retried', placed);
  }

  async find<N extends DelayName>(
    { name, key }: NameAndKey<N>,
    options: InTransaction,
  ): Promise<DelayInfo<N> | null> {
    const row = await this.#store.find(this.#readsOf(options), name, key);
    return row === undefined ? null : infoOf(name, row);
  }

  async history({ name, key }: NameAndKey, options: InTransaction): Promise<DelayRecord[]> {
    const rows = await this.#store.history(this.#readsOf(options), name, key, HISTORY_MAX);
    return rows.map(recordOf);
  }

  /** Resolves when the calls made so far have their answers. */
  drain(): Promise<void> {
    return this.#coalesced.drain();
  }

  /** The same, and refuses later calls that name no transaction. */
  close(): Promise<void> {
    return this.#coalesced.close();
  }

  /** @throws DelayShutdownError without a manager, once TypeORM closes its pool */
  #transactionOf(options: InTransaction, kind: 'read' | 'write'): CallersTransaction {
    const transaction = transactionOf(this.dataSource, options, kind);
    if (transaction !== undefined) return transaction;
    if (this.#coalesced.isClosed) throw new DelayShutdownError();
    return this.#alone;
  }

  #readsOf(options: InTransaction): Runner {
    const { manager, runner } = this.#transactionOf(options, 'read');
    return manager === undefined ? this.#outside.reads : runner;
  }

  /** In the caller's transaction, if he has begun one; else in one that begins and ends here. */
  async #inOneTransaction<Result>(
    manager: EntityManager | undefined,
    runner: Runner,
    write: (manager: EntityManager, runner: Runner) => Promise<Result>,
  ): Promise<Result> {
    if (manager === undefined) {
      return await despiteDeadlocks(() => this.#outside.transaction(write));
    }
    if (await isInTransaction(manager)) return await write(manager, runner);
    return await despiteDeadlocks(() =>
      manager.transaction((ours) => write(ours, { ...runnerOf(ours), transaction: 'ours' })),
    );
  }

  #scheduled(
    manager: EntityManager | undefined,
    { name }: NewDelay,
    placed: Placed,
    answeredAtMs?: number,
  ): ScheduleResult {
    this.#announcements.written(manager, name, placed, { answeredAtMs });
    return answerOf(placed.verdict as ScheduleResult['verdict'], placed);
  }
}
