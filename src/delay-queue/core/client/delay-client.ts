import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type {
  CancelResult,
  ChangeOptions,
  InTransaction,
  RescheduleResult,
  ScheduleResult,
} from '../api/delay.js';
import type { DelayEvents } from '../api/events.js';
import type { MoveTo } from '../config/durations.js';
import type { ResolvedOptions } from '../config/options.js';
import type { CallersPool } from '../database/own-pool.js';
import { DelayStore } from '../store/delay.store.js';
import {
  inLockOrder,
  type NameAndKey,
  type NewDelay,
  type Placed,
  type Target,
} from '../store/rows/delay-rows.js';
import {
  type CallersTransaction,
  isAlone,
  type Joined,
  Transactions,
} from '../transactions/transactions.js';
import { type ActingAttempt, surroundingBy } from '../transactions/handler-context.js';
import { OutsideTransactions } from '../transactions/outside-transactions.js';
import { Aborts, type AbortsEngine } from './aborts.js';
import { Announcements, type CommittedWrites } from './announcements.js';
import type { Cancelling } from './arguments.js';
import { ManyWrites } from './bulk-writes.js';
import { AllOrNone } from './all-or-none.js';
import { CoalescedWrites } from './coalesced-writes.js';
import { Erasures } from './erasures.js';
import { needsClock, withFirstInstants } from './first-instants.js';
import type { GivenDelays } from './new-delays.js';
import { Pausing } from './pauses.js';
import { changeResult } from './results.js';
import { Matching } from './matching.js';
import { type HeldAttempts, Reads } from './reads.js';
import { goneOn, SelfReschedules } from './self-reschedules.js';

export interface ClientEngine extends CallersPool, CommittedWrites, AbortsEngine, HeldAttempts {
  /** This process schedules its first delay, committed or not. */
  scheduled(): void;
  /** A call makes a delay recur in that zone. */
  usesZone(zone: string): void;
}

/**
 * Turns calls into rows, each in the transaction that its caller chose. Arguments are already
 * checked. Each method awaits what it returns, so an error's stack leads to the caller.
 */
export class DelayClient implements BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #store: DelayStore;
  readonly #transactions: Transactions;
  readonly #coalesced: CoalescedWrites;
  readonly #selfReschedules: SelfReschedules;
  readonly #allOrNone: AllOrNone;
  readonly #announcements: Announcements;
  #hasScheduled = false;
  readonly many: ManyWrites;
  readonly pausing: Pausing;
  readonly matching: Matching;
  readonly reads: Reads;
  readonly #aborts: Aborts;
  readonly erasures: Erasures;

  constructor(
    readonly dataSource: DataSource,
    private readonly engine: ClientEngine,
    options: ResolvedOptions,
    events: DelayEvents,
  ) {
    const { installation, nodeName, historyKept, resolveManager } = options;
    this.#store = new DelayStore(installation, historyKept, nodeName);
    this.#selfReschedules = new SelfReschedules(this.#store, engine.afterCommit, options);
    this.#announcements = new Announcements(engine, events);
    const outside = new OutsideTransactions(dataSource, engine);
    this.#coalesced = new CoalescedWrites(this.#store, outside, options);
    const transactions = new Transactions(
      dataSource,
      outside,
      this.#coalesced,
      installation.schema,
      surroundingBy(resolveManager),
    );
    this.#transactions = transactions;
    this.#allOrNone = new AllOrNone(this.#store, this.#selfReschedules, transactions);
    this.many = new ManyWrites(options, this.#selfReschedules, transactions, this.#announcements);
    this.pausing = new Pausing(installation, transactions, engine);
    this.#aborts = new Aborts(transactions, engine, this.#selfReschedules);
    this.matching = new Matching(installation, this.many, transactions, this.#aborts);
    this.reads = new Reads(options, transactions, engine);
    this.erasures = new Erasures(installation, transactions, this.matching);
  }

  async schedule(
    { delays: delay, ready: given }: GivenDelays<NewDelay>,
    options: InTransaction,
  ): Promise<ScheduleResult> {
    const transaction = this.#transactions.of(options, 'write');
    const ready = this.#transactions.inTime(transaction, given);
    const own = this.#selfReschedules.attempt(transaction.joined, delay);
    const placed =
      isAlone(transaction, own) && !needsClock(delay) && delay.reruns !== true
        ? await this.#coalesced.schedule(delay, ready)
        : await this.#schedule(delay, transaction, own, ready);
    const told = this.#scheduled(transaction.joined, [{ delay, placed }]);
    if (told !== undefined) await told;
    return changeResult<ScheduleResult['verdict']>(placed);
  }

  async scheduleMany(
    { delays, ready: given }: GivenDelays<NewDelay[]>,
    options: InTransaction,
  ): Promise<ScheduleResult[]> {
    if (delays.length === 0) return [];
    const transaction = this.#transactions.of(options, 'write');
    const ready = this.#transactions.inTime(transaction, given);
    const { sorted, indexes } = inLockOrder(delays);
    const { placed, joined } = await this.#allOrNone.write(sorted, transaction, ready);
    const results = Array.from<ScheduleResult>({ length: delays.length });
    const written = sorted.map((delay, position) => {
      const one = placed[position] as Placed;
      results[indexes[position] as number] = changeResult<ScheduleResult['verdict']>(one);
      return { delay, placed: one };
    });
    await this.#scheduled(joined, written);
    return results;
  }

  async cancel(
    target: NameAndKey,
    { transaction, abortWithinMs }: Cancelling,
  ): Promise<CancelResult> {
    if (abortWithinMs === undefined) return await this.#cancel(target, transaction);
    const giveUpAtMs = performance.now() + abortWithinMs;
    const cancel = async (): Promise<CancelResult[]> => [await this.#cancel(target, transaction)];
    const how = { transaction, giveUpAtMs };
    const [result] = await this.#aborts.end([target], await cancel(), how, cancel);
    return result as CancelResult;
  }

  async #cancel(target: NameAndKey, options: ChangeOptions): Promise<CancelResult> {
    const transaction = this.#transactions.of(options, 'write');
    const { joined, runner, inOrder } = transaction;
    const own = this.#selfReschedules.attempt(joined, target);
    const { by } = options;
    const placed =
      isAlone(transaction, own) && by === undefined
        ? await this.#coalesced.cancel(target)
        : await inOrder([target], () => this.#store.cancel(runner, target, own, by));
    await this.#announcements.announce(joined, [{ delay: target, placed }]);
    return changeResult<CancelResult['verdict']>(placed);
  }

  async cancelMany(
    targets: readonly Target[],
    { transaction, abortWithinMs }: Cancelling,
  ): Promise<CancelResult[]> {
    const cancel = (some: readonly Target[], first?: () => Promise<void>) =>
      this.many.change<CancelResult['verdict']>('cancel', some, transaction, undefined, first);
    if (abortWithinMs === undefined) return await cancel(targets);
    const giveUpAtMs = performance.now() + abortWithinMs;
    // First, and in the call's turn: what was cancelled before a refusal would stay cancelled.
    const results = await cancel(targets, () => this.#aborts.refuseSnapshots(transaction));
    return await this.#aborts.end(targets, results, { transaction, giveUpAtMs }, cancel);
  }

  async reschedule(
    target: NameAndKey,
    to: MoveTo,
    options: ChangeOptions,
  ): Promise<RescheduleResult> {
    const transaction = this.#transactions.of(options, 'write');
    const { joined, runner, inOrder } = transaction;
    const own = this.#selfReschedules.attempt(joined, target);
    const { by } = options;
    const move = { ...target, to };
    const placed =
      isAlone(transaction, own) && by === undefined
        ? await this.#coalesced.reschedule(move)
        : await inOrder([target], async () => {
            const moved = own && (await this.#selfReschedules.reschedule(own, joined, runner, to));
            return moved ?? (await this.#store.reschedule(runner, move, by));
          });
    await this.#announcements.announce(joined, [{ delay: target, placed }]);
    return changeResult<RescheduleResult['verdict']>(placed);
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

  /** Writes a delay that is not coalesced: in a caller's transaction, or of a handler about its own delay. */
  async #schedule(
    delay: NewDelay,
    { joined, runner, inOrder }: CallersTransaction,
    own: ActingAttempt | undefined,
    ready: Promise<void> | undefined,
  ): Promise<Placed> {
    return await inOrder([delay], async () => {
      if (ready !== undefined) await ready;
      const timed = needsClock(delay)
        ? await withFirstInstants(this.#store, runner, [delay])
        : [delay];
      const self = this.#selfReschedules;
      const moved =
        own && (await self.schedule(own, joined, runner, goneOn(own, timed[0] as NewDelay)));
      if (moved) return moved;
      const placed = await this.#store.place(runner, timed);
      return (await this.#store.rerun(runner, timed, placed))[0] as Placed;
    });
  }

  #scheduled(
    joined: Joined | undefined,
    written: readonly { delay: NewDelay; placed: Placed }[],
  ): Promise<void> | undefined {
    if (!this.#hasScheduled) this.engine.scheduled();
    this.#hasScheduled = true;
    for (const { delay } of written) {
      const how = delay.repeat?.how;
      if (how !== undefined && 'cron' in how) this.engine.usesZone(how.timeZone);
    }
    return this.#announcements.announce(joined, written);
  }
}
