import { Injectable } from '@nestjs/common';
import type { DelayName, InTransaction, ListedDelay, RescheduleTo } from './api/delay.js';
import type {
  AbortCounts,
  AbortMatchingOptions,
  Counts,
  DelayFilter,
  DelayPause,
  DelayTarget,
  GroupStatsOptions,
  HistoryFilter,
  HistoryPageOptions,
  MatchingOptions,
  PageOptions,
  PauseOptions,
  ResumeOptions,
  StoryFilter,
} from './api/selection.js';
import type { DelayStats, GroupStats, HistoryPage, KeyStory } from './api/stats.js';
import type {
  CancelOptions,
  CancelResult,
  DiscardDeadResult,
  RescheduleResult,
  RetryDeadResult,
  RunNowResult,
} from './api/verdicts.js';
import { cancellingOf } from './client/cancels.js';
import { targetsOf } from './client/arguments.js';
import {
  endedFilterOf,
  filterOf,
  pageOf,
  pausableOf,
  pauseOptionsOf,
  storyFilterOf,
  storyPageOf,
  topGroupsOf,
} from './client/selection-arguments.js';
import { Producer } from './client/producer.js';
import { checkKnownOptions } from './config/known-options.js';
import { parseRescheduleTo } from './config/due-times.js';

/**
 * For those who look after the delays of an application: a page for its support, a script after an incident.
 *
 * Each change is about a list of up to 10,000 delays, or about all that match a filter.
 *
 * - A list is one transaction, and answers one result per delay, in their order.
 * - A filter is a transaction for each page of 1,000, and answers how many there were. A delay is changed only if it
 *   still matches at that moment. `count` says beforehand how many there are.
 *
 * With `manager` all of it is part of the caller's transaction.
 *
 * ```ts
 * await this.admin.retryDead([{ name: 'order.close', key: '42' }, { id: '1017' }]);
 * await this.admin.retryDead({ name: 'order.close', error: 'ECONNREFUSED' }, { onProgress: console.log });
 * ```
 *
 * What is not acceptable throws `DelayInvalidError`, which names the field. Rows that another session has locked are waited for;
 * outside of a caller's transaction for 10 s, then `DelayUnstableError` says that nothing of this page was written.
 */
@Injectable()
export class DelayAdmin {
  /** @internal */
  constructor(private readonly producer: Producer) {}

  /**
   * Lists what matches, a page at a time: `limit` delays (1 to 1,000, 100 if not said) with ids above `after`.
   * @returns live delays, dead letters included, in the order of their ids, and what each waits for; `{}` matches all
   */
  async list(filter: DelayFilter, options: PageOptions = {}): Promise<ListedDelay[]> {
    const page = pageOf(options);
    return await this.producer.matching.list(filterOf(filter, { mayBeEmpty: true }), page, options);
  }

  /** Counts what matches. @returns a number */
  async count(filter: DelayFilter, options: InTransaction = {}): Promise<number> {
    checkKnownOptions(options, 'options', ['manager']);
    return await this.producer.matching.count(filterOf(filter, { mayBeEmpty: true }), options);
  }

  /**
   * Lists what has ended and matches, newest first, a page at a time. With a key or a group it reads what these have, else
   * all lines up to the last of the page.
   * @returns a page of `history`, and what the next one is `after`; `{}` matches all
   */
  async history(filter: HistoryFilter, options: HistoryPageOptions = {}): Promise<HistoryPage> {
    const page = storyPageOf(options, { among: 'ended', behind: undefined });
    return await this.producer.matching.history(endedFilterOf(filter), page, options);
  }

  /**
   * Tells everything about one business key, across names, or about what matches a filter: all of a customer, also what
   * is past.
   *
   * ```ts
   * const { delays, history, next } = await this.admin.story({ group: 'customer-7' }, { limit: 50 });
   * ```
   * @returns a page: what lives and what it waits for, then what became of the rest, newest first; and what the next page is `after`
   */
  async story(about: string | StoryFilter, options: HistoryPageOptions = {}): Promise<KeyStory> {
    const page = storyPageOf(options, { among: 'live', behindId: 0 });
    return await this.producer.matching.story(storyFilterOf(about), page, options);
  }

  /**
   * Counts the delays of each name, what of it is late, paused and limited, and who runs it. Reads the whole table.
   * @returns what there is of each name, the live nodes, and what is paused
   */
  async stats(options: InTransaction = {}): Promise<DelayStats> {
    checkKnownOptions(options, 'options', ['manager']);
    return await this.producer.matching.stats(options);
  }

  /**
   * Counts what matches for each group of a name: `limit` groups (1 to 1,000, 100 if not said), those with the most
   * `overdue` first, or the most of what `orderBy` says.
   *
   * With `group` or `groupPrefix` it reads what these groups have, with `state: 'dead'` the dead letters, else the
   * whole table. Delays without a group are left out.
   * @returns what there is of each group, and whether it is paused
   */
  async groupStats(
    filter: DelayFilter = {},
    options: GroupStatsOptions = {},
  ): Promise<GroupStats[]> {
    const which = filterOf(filter, { mayBeEmpty: true });
    return await this.producer.matching.groupStats(which, topGroupsOf(options), options);
  }

  /** Removes delays that no attempt holds, dead letters too; with `running: 'abort'` those that run, too. */
  cancel(targets: readonly DelayTarget[], options?: CancelOptions): Promise<CancelResult[]>;
  cancel(filter: DelayFilter, options: AbortMatchingOptions): Promise<AbortCounts>;
  cancel(
    filter: DelayFilter,
    options?: MatchingOptions<'cancelled' | 'running'> & { running?: 'leave' },
  ): Promise<Counts<'cancelled' | 'running'>>;
  async cancel(
    which: readonly DelayTarget[] | DelayFilter,
    options: CancelOptions = {},
  ): Promise<unknown> {
    if (Array.isArray(which)) {
      return await this.producer.cancels.list(targetsOf(which), cancellingOf(options));
    }
    return await this.producer.matching.cancelMatching(which, options);
  }

  /** Moves delays that no attempt holds to another time, with all their attempts. */
  reschedule(
    targets: readonly DelayTarget[],
    to: RescheduleTo,
    options?: InTransaction,
  ): Promise<RescheduleResult[]>;
  reschedule(
    filter: DelayFilter,
    to: RescheduleTo,
    options?: MatchingOptions<'rescheduled' | 'running'>,
  ): Promise<Counts<'rescheduled' | 'running'>>;
  async reschedule(
    which: readonly DelayTarget[] | DelayFilter,
    to: RescheduleTo,
    options: InTransaction = {},
  ): Promise<unknown> {
    const move = parseRescheduleTo(to);
    return await this.producer.matching.changeGiven('reschedule', which, options, move);
  }

  /** Makes delays due now that wait for their due time or for their next attempt. Attempts stay counted. */
  runNow(targets: readonly DelayTarget[], options?: InTransaction): Promise<RunNowResult[]>;
  runNow(
    filter: DelayFilter,
    options?: MatchingOptions<'due' | 'running'>,
  ): Promise<Counts<'due' | 'running'>>;
  async runNow(
    which: readonly DelayTarget[] | DelayFilter,
    options: InTransaction = {},
  ): Promise<unknown> {
    return await this.producer.matching.changeGiven('runNow', which, options);
  }

  /** Makes dead letters due now, with all their attempts. */
  retryDead(targets: readonly DelayTarget[], options?: InTransaction): Promise<RetryDeadResult[]>;
  retryDead(filter: DelayFilter, options?: MatchingOptions<'retried'>): Promise<Counts<'retried'>>;
  async retryDead(
    which: readonly DelayTarget[] | DelayFilter,
    options: InTransaction = {},
  ): Promise<unknown> {
    return await this.producer.matching.changeGiven('retryDead', which, options);
  }

  /** Removes dead letters for good. */
  discardDead(
    targets: readonly DelayTarget[],
    options?: InTransaction,
  ): Promise<DiscardDeadResult[]>;
  discardDead(
    filter: DelayFilter,
    options?: MatchingOptions<'discarded'>,
  ): Promise<Counts<'discarded'>>;
  async discardDead(
    which: readonly DelayTarget[] | DelayFilter,
    options: InTransaction = {},
  ): Promise<unknown> {
    return await this.producer.matching.changeGiven('discardDead', which, options);
  }

  /**
   * From now on no delay of that name, or of one group of it, begins on any node; what runs goes on.
   *
   * What is claimed while this call commits may still begin. Due times stay. It survives restarts. A second call changes it.
   *
   * ```ts
   * await this.admin.pause('sms.send', { reason: 'the provider is down', for: '2h' });
   * ```
   * @returns the pause
   */
  async pause(name: DelayName, options: PauseOptions = {}): Promise<DelayPause> {
    const { what, reason, until } = pauseOptionsOf(name, options);
    return await this.producer.pausing.pause(what, reason, until, options);
  }

  /** Ends a pause: what was due meanwhile begins. @returns the pause that ended, or `null` */
  async resume(name: DelayName, options: ResumeOptions = {}): Promise<DelayPause | null> {
    const given = checkKnownOptions(options, 'options', ['group', 'manager']);
    return await this.producer.pausing.resume(pausableOf(name, given), options);
  }
}
