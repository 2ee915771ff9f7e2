import { adopted } from '../delay/adopted.js';
import type { DelayInfo, DelayName, InTransaction } from '../delay/delay.js';
import type { Counts, DelayFilter, DelayTarget, MatchingOptions } from '../delay/selection.js';
import type { DelayStats, GroupStats, KeyStory } from '../delay/stats.js';
import type { Payloads } from '../payloads/payloads.js';
import type { ManyVerb, TargetList } from '../store/many.store.js';
import { type Page, SelectionStore, type TopGroups } from '../store/selection.store.js';
import { LOADS_MISSED_MAX } from '../store/sql/nodes/presence.sql.js';
import type { RowFilter } from '../store/sql/parts/filter.js';
import type { FoundRow } from '../store/wire/delay-rows.js';
import type { Installation } from '../store/tables/schema.js';
import { checkKnownOptions } from '../validation/known-options.js';
import type { MoveTo } from '../validation/when.js';
import { targetsOf } from './arguments.js';
import { HISTORY_MAX, infoOf, infosOf, recordOf, statsOf } from './results.js';
import { changeOptionsOf, filterOf } from './selection-arguments.js';
import type { CallersTransaction } from './transaction/callers-transaction.js';
import type { Transactions } from './transaction/transactions.js';
import type { ManyWrites } from './many-writes.js';
import type { Pausing } from './pausing.js';

/** Delays that one statement changes: a transaction of its own ends after each page. */
const PAGE = 1_000;

/** Reads and changes the delays that match a filter. */
export class Matching {
  readonly #selection: SelectionStore;
  readonly #payloads: Payloads;
  /** For how long a node counts as alive of which nobody can tell. */
  readonly #nodeAliveMs: number;

  constructor(
    {
      installation,
      loadEveryMs,
      payloads,
    }: { installation: Installation; loadEveryMs: number; payloads: Payloads },
    private readonly many: ManyWrites,
    private readonly transactions: Transactions,
    private readonly pausing: Pausing,
  ) {
    this.#selection = new SelectionStore(installation);
    this.#payloads = payloads;
    this.#nodeAliveMs = loadEveryMs * LOADS_MISSED_MAX;
  }

  /** @throws DelayCodecError */
  async infoOf<N extends DelayName>(name: N, row: FoundRow): Promise<DelayInfo<N>> {
    return infoOf(name, row, await this.#payloads.given(row.payload, row));
  }

  async list(filter: RowFilter, page: Page, options: InTransaction): Promise<DelayInfo[]> {
    const { runner, inOrder } = this.transactions.of(options, 'read');
    const rows = await inOrder('all', () => this.#selection.list(runner, filter, page));
    return await infosOf(rows, this.#payloads);
  }

  async count(filter: RowFilter, options: InTransaction): Promise<number> {
    const { runner, inOrder } = this.transactions.of(options, 'read');
    return await inOrder('all', () => this.#selection.count(runner, filter));
  }

  async story(key: string, options: InTransaction): Promise<KeyStory> {
    const { runner, inOrder } = this.transactions.of(options, 'read');
    const { delays, history } = await inOrder('all', async () => ({
      delays: await this.#selection.list(runner, { key }, { behindId: 0, limit: PAGE }),
      history: await this.#selection.historyOf(runner, key, HISTORY_MAX),
    }));
    return { delays: await infosOf(delays, this.#payloads), history: history.map(recordOf) };
  }

  async stats(options: InTransaction): Promise<DelayStats> {
    const { runner, inOrder } = this.transactions.of(options, 'read');
    return await inOrder('all', async () => {
      const nodes = await this.#selection.nodeStats(runner, this.#nodeAliveMs);
      const names = await this.#selection.nameStats(runner);
      return statsOf(names, nodes, await this.pausing.list(options));
    });
  }

  async groupStats(
    filter: RowFilter,
    top: TopGroups,
    options: InTransaction,
  ): Promise<GroupStats[]> {
    const { runner, inOrder } = this.transactions.of(options, 'read');
    return await inOrder('all', () => this.#selection.groupStats(runner, filter, top));
  }

  /** Changes a list of delays, or those that match a filter, as its caller gives them. */
  async changeGiven(
    verb: ManyVerb,
    which: readonly DelayTarget[] | DelayFilter,
    options: InTransaction,
    to?: MoveTo,
  ): Promise<unknown> {
    if (Array.isArray(which)) {
      checkKnownOptions(options, 'options', ['manager']);
      return await this.many.change(verb, targetsOf(which), options, to);
    }
    const filter = filterOf(which, { mayBeEmpty: false });
    return await this.change(verb, filter, changeOptionsOf(options), to);
  }

  /**
   * Changes those that match, page by page in the order of their ids; each of them matches at the moment of its change.
   * Those that begin to match behind the last page are left out.
   *
   * @param to only for `reschedule`
   * @throws the signal's reason, between two pages: what was written stays
   */
  async change<Verdict extends string>(
    verb: ManyVerb,
    filter: RowFilter,
    { signal, onProgress, ...options }: MatchingOptions<Verdict>,
    to?: MoveTo,
  ): Promise<Counts<Verdict>> {
    const transaction = this.transactions.of(options, 'write');
    const change = (): Promise<Counts<Verdict>> =>
      this.#change(verb, filter, transaction, { signal, onProgress }, to);
    return await transaction.inOrder('all', change);
  }

  async #change<Verdict extends string>(
    verb: ManyVerb,
    filter: RowFilter,
    transaction: CallersTransaction,
    { signal, onProgress }: Pick<MatchingOptions<Verdict>, 'signal' | 'onProgress'>,
    to: MoveTo | undefined,
  ): Promise<Counts<Verdict>> {
    const counts: Record<string, number> & Counts<never> = { matched: 0, ...NONE[verb] };
    for (let behindId = 0; ;) {
      signal?.throwIfAborted();
      const { ids, changed, manager } = await this.transactions.run(
        transaction,
        async (joined, runner) => {
          const page = await this.#selection.ids(runner, filter, { behindId, limit: PAGE });
          const list: TargetList = { of: 'ids', targets: page.map((id) => ({ id })) };
          const lists = [{ list, indexes: [...page.keys()] }];
          return {
            ids: page,
            changed: await this.many.write(verb, lists, joined, runner, { to, filter }),
            manager: joined,
          };
        },
      );
      this.many.announce(manager, changed.values());
      for (const { verdict } of changed.values()) {
        if (verdict === 'absent') continue;
        counts.matched += 1;
        counts[verdict] = (counts[verdict] ?? 0) + 1;
      }
      await adopted<unknown>(onProgress?.({ ...counts } as Counts<Verdict>));
      if (ids.length < PAGE) return counts;
      behindId = ids.at(-1) as number;
    }
  }
}

/** Counts of verdicts that a call can give, before it begins. */
const NONE: Record<ManyVerb, Record<string, number>> = {
  cancel: { cancelled: 0, running: 0 },
  reschedule: { rescheduled: 0, running: 0 },
  runNow: { due: 0, running: 0 },
  retryDead: { retried: 0 },
  discardDead: { discarded: 0 },
};
