import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import type { DataSource, EntityManager } from 'typeorm';
import type {
  CancelResult,
  ChangeOptions,
  DelayInfo,
  DelayName,
  DelayRecord,
  HistoryKept,
  InTransaction,
  RescheduleResult,
  RetryDeadResult,
  ScheduleResult,
} from '../api/delay.js';
import type { MoveTo } from '../config/durations.js';
import type { Payloads } from '../config/payloads.js';
import type { CallersPool } from '../database/own-pool.js';
import type { Installation } from '../database/tables.js';
import { DelayStore } from '../store/delay.store.js';
import { inLockOrder, type NewDelay, type Placed } from '../store/rows/delay-rows.js';
import { isAlone } from '../transactions/callers-transaction.js';
import { Transactions } from '../transactions/transactions.js';
import type { AfterCommit } from '../transactions/commit-hooks.js';
import { surroundingBy } from '../transactions/handler-context.js';
import { OutsideTransactions } from '../transactions/outside-transactions.js';
import type { NameAndKey } from './arguments.js';
import { AllOrNone, ManyWrites } from './bulk-writes.js';
import { type AbortsEngine, Cancels } from './cancels.js';
import { CoalescedWrites } from './coalesced-writes.js';
import { Erasures } from './erasures.js';
import { needsClock } from './first-instants.js';
import type { Given } from './new-delays.js';
import { Pausing } from './pauses.js';
import { HISTORY_MAX, recordOf } from './results.js';
import { type HeldAttempts, Matching } from './selections.js';
import {
  Announcements,
  answerOf,
  type CommittedWrites,
  ownAttempt,
  SelfReschedules,
  SingleWrites,
  type WritesTrace,
} from './writes.js';

export interface ProducersEngine extends CallersPool, CommittedWrites, AbortsEngine, HeldAttempts {
  readonly afterCommit: AfterCommit;
  /** This process schedules its first delay, committed or not. */
  scheduled(): void;
  /** A call makes a delay recur in that zone. */
  usesZone(zone: string): void;
}

interface ProducerOptions {
  installation: Installation;
  nodeName: string;
  historyKept: HistoryKept;
  drainTimeoutMs: number;
  /** Pause between two heartbeats of a node. */
  loadEveryMs: number;
  payloads: Payloads;
  resolveManager?: (() => unknown) | undefined;
}

/**
 * Turns calls into rows, each in the transaction that its caller chose. Arguments are already
 * checked. Each method awaits what it returns, so an error's stack leads to the caller.
 */
export class Producer implements BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #store: DelayStore;
  readonly #transactions: Transactions;
  readonly #coalesced: CoalescedWrites;
  readonly #single: SingleWrites;
  readonly #allOrNone: AllOrNone;
  readonly #announcements: Announcements;
  #hasScheduled = false;
  readonly many: ManyWrites;
  readonly pausing: Pausing;
  readonly matching: Matching;
  readonly cancels: Cancels;
  readonly erasures: Erasures;

  constructor(
    dataSource: DataSource,
    private readonly engine: ProducersEngine,
    options: ProducerOptions,
    trace?: WritesTrace,
  ) {
    const {
      installation,
      nodeName,
      historyKept: kept,
      drainTimeoutMs,
      loadEveryMs,
      payloads,
    } = options;
    this.#store = new DelayStore(installation, kept, nodeName);
    const selfReschedules = new SelfReschedules(this.#store, engine.afterCommit);
    this.#announcements = new Announcements(engine.afterCommit, engine, trace);
    this.#single = new SingleWrites(this.#store, selfReschedules);
    const outside = new OutsideTransactions(dataSource, engine);
    this.#coalesced = new CoalescedWrites({
      store: this.#store,
      runners: { alone: outside.writes, together: outside.together },
      limits: outside,
      drainWithinMs: drainTimeoutMs,
      schema: installation.schema,
    });
    const surrounding = surroundingBy(options.resolveManager);
    this.#transactions = new Transactions(
      dataSource,
      outside,
      this.#coalesced,
      installation.schema,
      surrounding,
    );
    this.#allOrNone = new AllOrNone(this.#store, selfReschedules, this.#transactions);
    const many = { installation, kept, loadEveryMs, payloads };
    this.many = new ManyWrites(many, selfReschedules, this.#transactions, this.#announcements);
    this.pausing = new Pausing(installation, this.#transactions, engine.afterCommit, () =>
      engine.pausesChanged(),
    );
    this.cancels = new Cancels(this.#transactions, engine, this, this.many);
    this.matching = new Matching(
      { ...many, nodeName },
      this.many,
      this.#transactions,
      this.pausing,
      this.cancels,
      engine,
    );
    this.erasures = new Erasures(many, this.#transactions, this.matching);
  }

  async schedule(
    { delays: delay, ready: given }: Given<NewDelay>,
    options: InTransaction,
  ): Promise<ScheduleResult> {
    const transaction = this.#transactions.of(options, 'write');
    const ready = this.#transactions.inTime(transaction, given);
    const own = ownAttempt(transaction.manager, delay);
    const placed =
      isAlone(transaction, own) && !needsClock(delay) && delay.reruns !== true
        ? await this.#coalesced.schedule(delay, ready)
        : await this.#single.schedule(delay, transaction, own, ready);
    return this.#scheduled(transaction.manager, delay, placed);
  }

  async scheduleMany(
    { delays, ready: given }: Given<NewDelay[]>,
    options: InTransaction,
  ): Promise<ScheduleResult[]> {
    if (delays.length === 0) return [];
    const transaction = this.#transactions.of(options, 'write');
    const ready = this.#transactions.inTime(transaction, given);
    const { sorted, indexes } = inLockOrder(delays);
    const { placed, manager } = await this.#allOrNone.write(sorted, transaction, ready);
    const results = Array.from<ScheduleResult>({ length: delays.length });
    const answeredAtMs = performance.now();
    for (const [position, delay] of sorted.entries()) {
      const one = placed[position] as Placed;
      results[indexes[position] as number] = this.#scheduled(manager, delay, one, answeredAtMs);
    }
    return results;
  }

  async cancel(target: NameAndKey, options: ChangeOptions): Promise<CancelResult> {
    const transaction = this.#transactions.of(options, 'write');
    const own = ownAttempt(transaction.manager, target);
    const placed =
      isAlone(transaction, own) && options.by === undefined
        ? await this.#coalesced.cancel(target)
        : await this.#single.cancel(target, transaction, own, options.by);
    const verdict = placed.verdict as CancelResult['verdict'];
    if (verdict === 'absent') return { verdict };
    if (verdict === 'cancelled')
      this.#announcements.cancelled(transaction.manager, target, placed.id);
    return answerOf(verdict, placed);
  }

  async reschedule(
    target: NameAndKey,
    to: MoveTo,
    options: ChangeOptions,
  ): Promise<RescheduleResult> {
    const transaction = this.#transactions.of(options, 'write');
    const own = ownAttempt(transaction.manager, target);
    const { by } = options;
    const placed =
      isAlone(transaction, own) && by === undefined
        ? await this.#coalesced.reschedule({ ...target, to })
        : await this.#single.reschedule({ ...target, to, by }, transaction, own);
    const verdict = placed.verdict as RescheduleResult['verdict'];
    if (verdict === 'absent') return { verdict };
    this.#announcements.written(transaction.manager, target, placed);
    return answerOf(verdict, placed);
  }

  async retryDead(target: NameAndKey, options: ChangeOptions): Promise<RetryDeadResult> {
    const transaction = this.#transactions.of(options, 'write');
    const placed = await this.#single.retryDead(target, transaction, options.by);
    if (placed === undefined) return { verdict: 'absent' };
    this.#announcements.written(transaction.manager, target, placed, { failed: true });
    return answerOf('retried', placed);
  }

  async find<N extends DelayName>(
    target: NameAndKey<N>,
    options: InTransaction,
  ): Promise<DelayInfo<N> | null> {
    const { name, key } = target;
    const { runner, inOrder } = this.#transactions.of(options, 'read');
    const row = await inOrder([target], () => this.#store.find(runner, name, key));
    return row === undefined ? null : await this.matching.infoOf(name, row);
  }

  async history(target: NameAndKey, options: InTransaction): Promise<DelayRecord[]> {
    const { name, key } = target;
    const { runner, inOrder } = this.#transactions.of(options, 'read');
    const rows = await inOrder([target], () => this.#store.history(runner, name, key, HISTORY_MAX));
    return rows.map(recordOf);
  }

  /** Nest's first shutdown hook. Drains the calls made so far. */
  beforeApplicationShutdown(): Promise<void> {
    return this.#coalesced.drain();
  }

  /**
   * Nest's second hook: drains the calls of handlers too, which end between the hooks, and refuses
   * later ones. TypeORM now closes its pool, which takes connections back with their transactions
   * open: a later call could land in one of those.
   */
  onApplicationShutdown(): Promise<void> {
    return this.#coalesced.close();
  }

  #scheduled(
    manager: EntityManager | undefined,
    delay: NewDelay,
    placed: Placed,
    answeredAtMs?: number,
  ): ScheduleResult {
    if (!this.#hasScheduled) this.engine.scheduled();
    this.#hasScheduled = true;
    const how = delay.repeat?.how;
    if (how !== undefined && 'cron' in how) this.engine.usesZone(how.timeZone);
    if (placed.verdict === 'rerun') this.#announcements.rerun(manager, delay, placed.id);
    this.#announcements.written(manager, delay, placed, { answeredAtMs });
    return answerOf(placed.verdict as ScheduleResult['verdict'], placed);
  }
}
