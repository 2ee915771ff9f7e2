import { Inject, Injectable } from '@nestjs/common';
import type {
  CancelOptions,
  CancelResult,
  ChangeOptions,
  DelayHeaders,
  DelayInfo,
  DelayName,
  DelayRecord,
  Due,
  GivenPayload,
  InTransaction,
  RescheduleResult,
  RescheduleTo,
  RetryDeadResult,
  ScheduleItem,
  ScheduleOptions,
  ScheduleResult,
} from '../api/delay.js';
import type { DelayTarget } from '../api/selection.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import { parseCancel, parseNameAndKey, parseOptions, parseTargets } from '../client/arguments.js';
import { DelayClient } from '../client/delay-client.js';
import { ALL_SERVICES } from '../config/queue-names.js';
import { managersDataSource } from '../transactions/transactions.js';
import { newDelay, newDelays } from '../client/new-delays.js';
import { aboutItems, aboutTargets, ObservedCalls } from '../client/observed-calls.js';
import { checkName } from '../config/checks.js';
import { parseScheduleOptions } from '../config/schedule-options.js';
import { parseRescheduleTo } from '../config/durations.js';

/**
 * Schedules, cancels and reads delays. With `manager`, a write commits and rolls back with the
 * caller's transaction; without it, the write has its own transaction. Inside a transactional
 * handler a write must name one: `ctx.manager`, or `'own'`.
 *
 * ```ts
 * await this.dataSource.transaction(async (manager) => {
 *   const order = await manager.save(Order, { ... });
 *   await this.delays.schedule(
 *     'order.close', { orderId: order.id }, { after: '30m', key: order.id, manager });
 * });
 * ```
 *
 * Invalid arguments throw `DelayInvalidError`, which names the field, before anything is written.
 * As with any rows, a caller in REPEATABLE READ can get Postgres's 40001, and two callers that
 * write two keys in opposite orders can get 40P01.
 */
@Injectable()
export class DelayService {
  readonly #calls: ObservedCalls;

  /** @internal */
  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    private readonly client: DelayClient,
    @Inject(ALL_SERVICES) private readonly all: () => readonly DelayService[] = () => [],
  ) {
    this.#calls = new ObservedCalls(options.nodeName, options.telemetry);
  }

  /**
   * Schedules one delay.
   *
   * A name has at most one live delay per `key`. `onConflict` decides what happens to one that
   * already waits; a dead letter of that key is always revived.
   *
   * With `repeat` the delay recurs, as one row, until it is cancelled. Without `after` and `at`, a
   * delay that already recurs the same way keeps its due time, so the call can be repeated safely.
   *
   * A handler that schedules its own name and key moves its own row.
   * @param payload plain JSON, up to `payloadBytesMax` (64 KiB)
   * @returns the verdict with `id` and `dueAt`; store that `dueAt` in a row that shows the deadline
   * @throws DelayInvalidError, DelayConflictError (`onConflict: 'error'`), DelayUnstableError
   */
  async schedule<N extends DelayName, P = unknown>(
    name: N,
    payload: GivenPayload<N, P>,
    options: Due & ScheduleOptions & InTransaction,
  ): Promise<ScheduleResult> {
    const chosen = this.#chosenBy(options);
    if (chosen) return await chosen.schedule(name, payload, options);
    const given = parseScheduleOptions(options);
    const { payloads } = this.options;
    if (!this.#calls.isHeard('schedule')) {
      return await this.client.schedule(newDelay(name, payload, given, payloads), options);
    }
    const { key, group } = given;
    const headers = given.headers === null ? {} : (JSON.parse(given.headers) as DelayHeaders);
    const about = { name: checkName(name), key, group, headers, count: 1 };
    return await this.#calls.run('schedule', about, (added) =>
      this.client.schedule(newDelay(name, payload, given, payloads, added), options),
    );
  }

  /**
   * Schedules up to 10,000 delays, all or none.
   * @returns one result per item, in their order
   * @throws DelayInvalidError, also for a duplicate key; DelayConflictError
   */
  async scheduleMany(
    items: readonly ScheduleItem[],
    options: InTransaction = {},
  ): Promise<ScheduleResult[]> {
    const chosen = this.#chosenBy(options);
    if (chosen) return await chosen.scheduleMany(items, options);
    parseOptions('read', options);
    const { payloads } = this.options;
    const about = this.#calls.isHeard('schedule') ? aboutItems(items) : undefined;
    if (about === undefined || about.count === 0) {
      return await this.client.scheduleMany(newDelays(items, payloads), options);
    }
    return await this.#calls.run('schedule', about, (added) =>
      this.client.scheduleMany(newDelays(items, payloads, added), options),
    );
  }

  /**
   * Removes a delay, also a dead letter; with `running: 'abort'`, also one that runs.
   *
   * An abort takes up to `abortWithin`. See {@link CancelResult}.
   */
  async cancel(name: DelayName, key: string, options: CancelOptions = {}): Promise<CancelResult> {
    const chosen = this.#chosenBy(options);
    if (chosen) return await chosen.cancel(name, key, options);
    const cancelling = parseCancel(options);
    const target = parseNameAndKey(name, key);
    return this.#calls.isHeard('cancel')
      ? await this.#calls.run('cancel', { ...target, count: 1 }, () =>
          this.client.cancel(target, cancelling),
        )
      : await this.client.cancel(target, cancelling);
  }

  /**
   * Cancels up to 10,000 different delays, by name and key or by id, in one transaction.
   *
   * With `running: 'abort'` and without `manager`, running delays are cancelled in separate
   * transactions, after their attempts have ended.
   * @returns one result per target, in their order; verdicts may differ
   * @throws DelayInvalidError, DelayUnstableError
   */
  async cancelMany(
    targets: readonly DelayTarget[],
    options: CancelOptions = {},
  ): Promise<CancelResult[]> {
    const chosen = this.#chosenBy(options);
    if (chosen) return await chosen.cancelMany(targets, options);
    const cancelling = parseCancel(options);
    const checked = parseTargets(targets);
    return this.#calls.isHeard('cancel')
      ? await this.#calls.run('cancel', aboutTargets(checked), () =>
          this.client.cancelMany(checked, cancelling),
        )
      : await this.client.cancelMany(checked, cancelling);
  }

  /**
   * Moves a delay that no attempt holds to another time and restores all its attempts.
   *
   * `extendBy` adds to its current due time. See {@link RescheduleResult}.
   */
  async reschedule(
    name: DelayName,
    key: string,
    to: RescheduleTo,
    options: ChangeOptions = {},
  ): Promise<RescheduleResult> {
    const chosen = this.#chosenBy(options);
    if (chosen) return await chosen.reschedule(name, key, to, options);
    const changing = parseOptions('change', options);
    const target = parseNameAndKey(name, key);
    const move = parseRescheduleTo(to);
    return this.#calls.isHeard('reschedule')
      ? await this.#calls.run('reschedule', { ...target, count: 1 }, () =>
          this.client.reschedule(target, move, changing),
        )
      : await this.client.reschedule(target, move, changing);
  }

  /** Moves up to 10,000 delays in one transaction, each as `reschedule` does. */
  async rescheduleMany(
    targets: readonly DelayTarget[],
    to: RescheduleTo,
    options: ChangeOptions = {},
  ): Promise<RescheduleResult[]> {
    const chosen = this.#chosenBy(options);
    if (chosen) return await chosen.rescheduleMany(targets, to, options);
    const changing = parseOptions('change', options);
    const move = parseRescheduleTo(to);
    const checked = parseTargets(targets);
    const write = (): Promise<RescheduleResult[]> =>
      this.client.many.change('reschedule', checked, changing, move);
    return this.#calls.isHeard('reschedule')
      ? await this.#calls.run('reschedule', aboutTargets(checked), write)
      : await write();
  }

  /** Finds the delay of that key. @returns the live delay, dead letters included, or `null` */
  async find<N extends DelayName>(
    name: N,
    key: string,
    options: InTransaction = {},
  ): Promise<DelayInfo<N> | null> {
    const chosen = this.#chosenBy(options);
    if (chosen) return await chosen.find(name, key, options);
    return await this.client.reads.find(parseNameAndKey(name, key, options), options);
  }

  /**
   * Reads how delays of that key ended, for as long as `history` keeps them.
   * @returns ended delays, newest first, up to 100
   */
  async history(name: DelayName, key: string, options: InTransaction = {}): Promise<DelayRecord[]> {
    const chosen = this.#chosenBy(options);
    if (chosen) return await chosen.history(name, key, options);
    return await this.client.reads.historyOfKey(parseNameAndKey(name, key, options), options);
  }

  /** Makes the dead letter of that key due now, with all its attempts. */
  async retryDead(
    name: DelayName,
    key: string,
    options: ChangeOptions = {},
  ): Promise<RetryDeadResult> {
    const chosen = this.#chosenBy(options);
    if (chosen) return await chosen.retryDead(name, key, options);
    const changing = parseOptions('change', options);
    const target = parseNameAndKey(name, key);
    const [result] = await this.#calls.admin('retryDead', changing.by, { targets: [target] }, () =>
      this.client.many.change<RetryDeadResult['verdict']>('retryDead', [target], changing),
    );
    return result as RetryDeadResult;
  }

  /** The service of another queue, if the manager is of its database: a call joins where it can. */
  #chosenBy(options: InTransaction): DelayService | undefined {
    const all = this.all();
    if (all.length === 0) return undefined;
    const dataSource = managersDataSource(options);
    if (dataSource === undefined || this.client.dataSource === dataSource) return undefined;
    const [its, another] = all.filter(({ client }) => client.dataSource === dataSource);
    return another === undefined ? its : undefined;
  }
}
