import { Inject, Injectable } from '@nestjs/common';
import type {
  CancelOptions,
  CancelResult,
  RescheduleResult,
  RetryDeadResult,
  ScheduleResult,
} from './api/verdicts.js';
import type {
  DelayInfo,
  DelayName,
  DelayRecord,
  GivenPayload,
  InTransaction,
  RescheduleTo,
  ScheduleItem,
  ScheduleOptions,
} from './api/delay.js';
import type { Due } from './api/times.js';
import type { DelayTarget } from './api/selection.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from './config/options.js';
import { cancellingOf } from './client/cancels.js';
import { nameAndKeyOf, newDelayOf, newDelaysOf, targetsOf } from './client/arguments.js';
import { Producer } from './client/producer.js';
import { checkKnownOptions } from './config/known-options.js';
import { parseScheduleOptions } from './config/schedule-options.js';
import { parseRescheduleTo } from './config/due-times.js';

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
  /** @internal */
  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    private readonly producer: Producer,
  ) {}

  /**
   * Schedules one delay.
   *
   * With a `key` there is one live delay per (name, key), and `onConflict` says what becomes of one that waits already;
   * a dead letter of that key is revived in any case.
   *
   * With `repeat` it recurs until it is cancelled, as one row. What recurs in that way already keeps its due time when
   * neither `after` nor `at` is given: so the same call may be made again and again.
   *
   * In a handler, scheduling its own name and key moves the very row on.
   *
   * @param payload plain JSON, up to `payloadBytesMax` (64 KiB)
   * @returns the verdict with `id` and `dueAt`; a row that shows the deadline stores that `dueAt`
   * @throws DelayInvalidError, DelayConflictError (`onConflict: 'error'`), DelayUnstableError
   */
  async schedule<N extends DelayName, P = unknown>(
    name: N,
    payload: GivenPayload<N, P>,
    options: Due & ScheduleOptions & InTransaction,
  ): Promise<ScheduleResult> {
    const given = parseScheduleOptions(options);
    const delay = newDelayOf(name, payload, given, this.options.payloads);
    return await this.producer.schedule(delay, options);
  }

  /**
   * Schedules up to 10,000 delays, all or none.
   * @returns one result per item, in their order
   * @throws DelayInvalidError also for a key that stands twice; DelayConflictError
   */
  async scheduleMany(
    items: readonly ScheduleItem[],
    options: InTransaction = {},
  ): Promise<ScheduleResult[]> {
    checkKnownOptions(options, 'options', ['manager']);
    const delays = newDelaysOf(items, this.options.payloads);
    return await this.producer.scheduleMany(delays, options);
  }

  /**
   * Removes a delay that no attempt holds, dead letters too; with `running: 'abort'` one that runs, too.
   *
   * An abort is tried for `abortWithin`, and can take so long. See {@link CancelResult}.
   */
  async cancel(name: DelayName, key: string, options: CancelOptions = {}): Promise<CancelResult> {
    const cancelling = cancellingOf(options);
    return await this.producer.cancels.one(nameAndKeyOf(name, key), cancelling);
  }

  /**
   * Cancels up to 10,000 delays, by name and key or by id, none twice, in one transaction.
   *
   * With `running: 'abort'` and without a `manager`, what runs is cancelled in transactions of its own, when it has ended.
   * @returns one result per target, in their order: one may be `cancelled` and the next `running`
   * @throws DelayInvalidError, DelayUnstableError
   */
  async cancelMany(
    targets: readonly DelayTarget[],
    options: CancelOptions = {},
  ): Promise<CancelResult[]> {
    const cancelling = cancellingOf(options);
    return await this.producer.cancels.list(targetsOf(targets), cancelling);
  }

  /**
   * Moves a delay that no attempt holds to another time and gives it all its attempts again.
   *
   * `extendBy` counts from its present due time. See {@link RescheduleResult}.
   */
  async reschedule(
    name: DelayName,
    key: string,
    to: RescheduleTo,
    options: InTransaction = {},
  ): Promise<RescheduleResult> {
    const target = nameAndKeyOf(name, key, options);
    const move = parseRescheduleTo(to);
    return await this.producer.reschedule(target, move, options);
  }

  /** Moves up to 10,000 delays, each as `reschedule` does, in one transaction. */
  async rescheduleMany(
    targets: readonly DelayTarget[],
    to: RescheduleTo,
    options: InTransaction = {},
  ): Promise<RescheduleResult[]> {
    checkKnownOptions(options, 'options', ['manager']);
    const move = parseRescheduleTo(to);
    return await this.producer.many.change('reschedule', targetsOf(targets), options, move);
  }

  /** Looks for the delay of that key. @returns the live delay, dead letters included, or `null` */
  async find<N extends DelayName>(
    name: N,
    key: string,
    options: InTransaction = {},
  ): Promise<DelayInfo<N> | null> {
    return await this.producer.find(nameAndKeyOf(name, key, options), options);
  }

  /**
   * Tells what became of the delays of that key, for as long as `history` keeps it.
   * @returns what ended, newest first, up to 100
   */
  async history(name: DelayName, key: string, options: InTransaction = {}): Promise<DelayRecord[]> {
    return await this.producer.history(nameAndKeyOf(name, key, options), options);
  }

  /** Makes the dead letter of that key due now, with all its attempts. */
  async retryDead(
    name: DelayName,
    key: string,
    options: InTransaction = {},
  ): Promise<RetryDeadResult> {
    return await this.producer.retryDead(nameAndKeyOf(name, key, options), options);
  }
}
