import { Inject, Injectable } from '@nestjs/common';
import type {
  CancelOptions,
  CancelResult,
  ChangeOptions,
  DelayName,
  DelayRecord,
  DiscardDeadResult,
  InTransaction,
  ListedDelay,
  RescheduleResult,
  RescheduleTo,
  RetryDeadResult,
  RunNowResult,
} from '../api/delay.js';
import type { DelayExplanation } from '../api/explanation.js';
import { DelayInvalidError } from '../api/errors.js';
import type {
  AbortCounts,
  AbortMatchingOptions,
  Counts,
  DelayFilter,
  DelayPause,
  DelayStats,
  DelayTarget,
  EndStateFilter,
  EraseCounts,
  EraseFilter,
  EraseOptions,
  GroupStats,
  GroupStatsOptions,
  HistoryFilter,
  HistoryPage,
  KeyStory,
  MatchingOptions,
  PageOptions,
  PauseOptions,
  ResumeOptions,
  StoryFilter,
} from '../api/selection.js';
import {
  parseCancel,
  parseNameAndKey,
  parseOptions,
  parsePage,
  parsePause,
  parseStoryPage,
  parseTarget,
  parseTargets,
  parseTopGroups,
} from '../client/arguments.js';
import { DelayClient } from '../client/delay-client.js';
import { ObservedCalls } from '../client/observed-calls.js';
import { type MoveTo, parseRescheduleTo } from '../config/durations.js';
import { checkName } from '../config/checks.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import type { Pausable } from '../store/pause.store.js';
import {
  endedFilter,
  eraseFilter,
  liveFilter,
  liveOrEndedFilter,
  storyFilter,
} from '../store/filter.table.js';
import type { ManyVerb } from '../store/many.store.js';

/**
 * Administration of delays: for a support page, or a script after an incident.
 *
 * A change takes a list of up to 10,000 delays, or a filter.
 *
 * - A list is one transaction and returns one result per delay, in their order.
 * - A filter is one transaction per page of 1,000 and returns counts. A delay changes only if it
 *   still matches by then. `count` returns their number beforehand.
 *
 * With `manager`, all of it is part of the caller's transaction.
 *
 * ```ts
 * await this.admin.retryDead([{ name: 'order.close', key: '42' }, { id: '1017' }]);
 * await this.admin.retryDead({ name: 'order.close', error: 'ECONNREFUSED' }, { onProgress: console.log });
 * ```
 *
 * Invalid arguments throw `DelayInvalidError`, which names the field. A call waits for rows locked
 * by other sessions; outside a caller's transaction for 10 s, then it throws `DelayUnstableError`
 * and nothing of this page was written.
 */
@Injectable()
export class DelayAdmin {
  readonly #calls: ObservedCalls;

  /** @internal */
  constructor(
    @Inject(RESOLVED_OPTIONS) { nodeName }: ResolvedOptions,
    private readonly client: DelayClient,
  ) {
    this.#calls = new ObservedCalls(nodeName);
  }

  /**
   * Lists live delays that match, by page: `limit` delays (1 to 1,000, default 100) after id
   * `after`. By the state of an end, it lists the newest ended ones; `history` has them by page.
   * @returns live delays, dead letters included, by id, and what each waits for; `{}` matches all
   */
  list(
    filter: EndStateFilter,
    options?: InTransaction & { limit?: number },
  ): Promise<DelayRecord[]>;
  list(filter: DelayFilter, options?: PageOptions): Promise<ListedDelay[]>;
  async list(
    filter: DelayFilter | EndStateFilter,
    options: PageOptions = {},
  ): Promise<ListedDelay[] | DelayRecord[]> {
    const page = parsePage(options);
    const which = liveOrEndedFilter(filter);
    if (which.rows === 'live') {
      return await this.client.reads.list(which.filter, page, options);
    }
    if (page.behindId > 0) {
      throw new DelayInvalidError(
        'after',
        'is for live delays: `history` pages through ended ones',
      );
    }
    const newest = { limit: page.limit, position: { among: 'ended', behind: undefined } } as const;
    return (await this.client.reads.history(which.filter, newest, options)).history;
  }

  /**
   * Counts live delays that match; by the state of an end, or by when they ended, those of history.
   * Of history it reads the entries of a key or a group, otherwise all of them.
   *
   * ```ts
   * await this.admin.count({ group: 'customer-7', state: 'completed' });
   * ```
   * @returns a number
   */
  async count(filter: DelayFilter | HistoryFilter, options: InTransaction = {}): Promise<number> {
    parseOptions('read', options);
    return await this.client.reads.count(liveOrEndedFilter(filter), options);
  }

  /**
   * Lists ended delays that match, newest first, by page. With a key or a group it reads only their
   * entries, otherwise all entries up to the end of the page.
   * @returns a page of `history`, and the `after` of the next one; `{}` matches all
   */
  async history(
    filter: HistoryFilter,
    options: InTransaction & { limit?: number; after?: string } = {},
  ): Promise<HistoryPage> {
    const page = parseStoryPage(options, { among: 'ended', behind: undefined });
    return await this.client.reads.history(endedFilter(filter), page, options);
  }

  /**
   * Reads the story of one business key, across names, or of a filter, such as one customer: live
   * and ended delays, by page.
   *
   * ```ts
   * const { delays, history, next } = await this.admin.story({ group: 'customer-7' }, { limit: 50 });
   * ```
   * @returns live delays and what each waits for, then ended ones, newest first; the next `after`
   */
  async story(about: string | StoryFilter, options: PageOptions = {}): Promise<KeyStory> {
    const page = parseStoryPage(options, { among: 'live', behindId: 0 });
    return await this.client.reads.story(storyFilter(about), page, options);
  }

  /**
   * Explains why a delay has not fired, or what became of it: the first cause and all others, with
   * their numbers and a sentence each. Reads by key, never the whole table.
   *
   * ```ts
   * const { reason, text, also } = await this.admin.explain('order.close', '42');
   * // 'paused', 'order.close has been paused since 2026-11-26 03:10:04 UTC, until it is resumed', []
   * ```
   * @returns a `DelayExplanation`, told apart by `reason`; for a delay without a key by `{ id }`
   */
  explain(name: DelayName, key: string, options?: InTransaction): Promise<DelayExplanation>;
  explain(target: DelayTarget, options?: InTransaction): Promise<DelayExplanation>;
  async explain(
    which: DelayName | DelayTarget,
    keyOrOptions?: string | InTransaction,
    given?: InTransaction,
  ): Promise<DelayExplanation> {
    if (typeof which === 'object') {
      const options = (keyOrOptions ?? {}) as InTransaction;
      parseOptions('read', options);
      return await this.client.reads.explain(parseTarget(which), options);
    }
    const options = given ?? {};
    const target = parseNameAndKey(which, keyOrOptions, options);
    return await this.client.reads.explain(target, options);
  }

  /**
   * Counts the delays of each name: late, paused and throttled ones, and the nodes that serve it.
   * Reads the whole table.
   * @returns counts per name, the live nodes, and the pauses
   */
  async stats(options: InTransaction = {}): Promise<DelayStats> {
    parseOptions('read', options);
    return await this.client.reads.stats(options);
  }

  /**
   * Counts matching delays per group of a name, for `limit` groups (1 to 1,000, default 100), most
   * `overdue` first, or by `orderBy`.
   *
   * With groups in the filter it reads only these, with `state: 'dead'` only dead letters, otherwise
   * the whole table. Delays without a group are left out.
   * @returns counts per group, and whether it is paused or throttled
   */
  async groupStats(
    filter: DelayFilter = {},
    options: GroupStatsOptions = {},
  ): Promise<GroupStats[]> {
    const which = liveFilter(filter, { mayBeEmpty: true });
    return await this.client.reads.groupStats(which, parseTopGroups(options), options);
  }

  /** Removes delays, also dead letters; with `running: 'abort'`, also those that run. */
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
    const cancelling = parseCancel(options, Array.isArray(which) ? 'cancel' : 'cancelMatching');
    if (!Array.isArray(which)) {
      const { transaction, abortWithinMs } = cancelling;
      const filter = which as DelayFilter;
      return await this.#changeMatching('cancel', filter, transaction, undefined, abortWithinMs);
    }
    const targets = parseTargets(which);
    return await this.#calls.admin('cancel', cancelling.transaction.by, { targets }, () =>
      this.client.cancelMany(targets, cancelling),
    );
  }

  /** Moves delays that no attempt holds to another time and restores all their attempts. */
  reschedule(
    targets: readonly DelayTarget[],
    to: RescheduleTo,
    options?: ChangeOptions,
  ): Promise<RescheduleResult[]>;
  reschedule(
    filter: DelayFilter,
    to: RescheduleTo,
    options?: MatchingOptions<'rescheduled' | 'running'>,
  ): Promise<Counts<'rescheduled' | 'running'>>;
  async reschedule(
    which: readonly DelayTarget[] | DelayFilter,
    to: RescheduleTo,
    options: ChangeOptions = {},
  ): Promise<unknown> {
    const move = parseRescheduleTo(to);
    return await this.#change('reschedule', which, options, move);
  }

  /** Makes delays due now that wait for their due time or next attempt. Attempts stay counted. */
  runNow(targets: readonly DelayTarget[], options?: ChangeOptions): Promise<RunNowResult[]>;
  runNow(
    filter: DelayFilter,
    options?: MatchingOptions<'due' | 'running'>,
  ): Promise<Counts<'due' | 'running'>>;
  async runNow(
    which: readonly DelayTarget[] | DelayFilter,
    options: ChangeOptions = {},
  ): Promise<unknown> {
    return await this.#change('runNow', which, options);
  }

  /** Makes dead letters due now, with all their attempts. */
  retryDead(targets: readonly DelayTarget[], options?: ChangeOptions): Promise<RetryDeadResult[]>;
  retryDead(filter: DelayFilter, options?: MatchingOptions<'retried'>): Promise<Counts<'retried'>>;
  async retryDead(
    which: readonly DelayTarget[] | DelayFilter,
    options: ChangeOptions = {},
  ): Promise<unknown> {
    return await this.#change('retryDead', which, options);
  }

  /** Removes dead letters for good. */
  discardDead(
    targets: readonly DelayTarget[],
    options?: ChangeOptions,
  ): Promise<DiscardDeadResult[]>;
  discardDead(
    filter: DelayFilter,
    options?: MatchingOptions<'discarded'>,
  ): Promise<Counts<'discarded'>>;
  async discardDead(
    which: readonly DelayTarget[] | DelayFilter,
    options: ChangeOptions = {},
  ): Promise<unknown> {
    return await this.#change('discardDead', which, options);
  }

  /**
   * Erases a person or customer: live delays, history and its attempts, reruns, pauses of the group,
   * and the lists and texts of the dashboard's operations. Writes no history, unlike `cancel`.
   *
   * Works in pages of 1,000, as a call by filter does. What runs is left and counted. `dryRun` counts
   * alone.
   *
   * ```ts
   * const { erased, running } = await this.admin.erase({ group: 'customer-7' }, { dryRun: true });
   * ```
   * @returns counts; erase again after `running` attempts have ended
   * @throws DelayInvalidError, also for a filter that gives a name alone
   */
  async erase(filter: EraseFilter, options: EraseOptions = {}): Promise<EraseCounts> {
    const which = eraseFilter(filter);
    const given = parseOptions('erase', options);
    const erase = (): Promise<EraseCounts> => this.client.erasures.erase(which, given);
    return given.dryRun === true
      ? await erase()
      : await this.#calls.admin('erase', given.by, {}, erase);
  }

  /**
   * Pauses a name, or one group of it, on all nodes: no delay of it starts. Running attempts go on.
   *
   * Delays claimed while this call commits may still start. Due times do not change. A pause
   * survives restarts; a second call replaces it.
   *
   * ```ts
   * await this.admin.pause('sms.send', { reason: 'the provider is down', for: '2h' });
   * ```
   * @returns the pause
   */
  async pause(name: DelayName, options: PauseOptions = {}): Promise<DelayPause> {
    const { what, ...how } = parsePause(name, options);
    return await this.#calls.admin('pause', how.by, { filter: pausedFilter(what) }, () =>
      this.client.pausing.pause(what, how, options),
    );
  }

  /** Ends a pause: overdue delays start. @returns the pause that ended, or `null` */
  async resume(name: DelayName, options: ResumeOptions = {}): Promise<DelayPause | null> {
    const { group = null, by } = parseOptions('resume', options);
    const what = { name: checkName(name), group };
    return await this.#calls.admin('resume', by, { filter: pausedFilter(what) }, () =>
      this.client.pausing.resume(what, options),
    );
  }

  async #change(
    verb: ManyVerb,
    which: readonly DelayTarget[] | DelayFilter,
    options: ChangeOptions,
    to?: MoveTo,
  ): Promise<unknown> {
    if (!Array.isArray(which)) {
      return await this.#changeMatching(
        verb,
        which as DelayFilter,
        parseOptions('changeMatching', options),
        to,
      );
    }
    const targets = parseTargets(which);
    const changing = parseOptions('change', options);
    return await this.#calls.admin(verb, changing.by, { targets }, () =>
      this.client.many.change(verb, targets, changing, to),
    );
  }

  async #changeMatching(
    verb: ManyVerb,
    given: DelayFilter,
    options: MatchingOptions<string>,
    to?: MoveTo,
    abortWithinMs?: number,
  ): Promise<unknown> {
    const filter = liveFilter(given, { mayBeEmpty: false });
    return await this.#calls.admin(verb, options.by, { filter: given }, () =>
      this.client.matching.change(verb, filter, options, to, abortWithinMs),
    );
  }
}

const pausedFilter = ({ name, group }: Pausable): DelayFilter =>
  ({ name, ...(group !== null && { group }) }) as DelayFilter;
