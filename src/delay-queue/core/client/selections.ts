import { adopted } from '../api/adopted.js';
import type {
  CancelResult,
  ChangeOptions,
  DelayInfo,
  DelayName,
  DelayRecord,
  InTransaction,
  ListedDelay,
} from '../api/delay.js';
import type { DelayExplanation } from '../api/explanation.js';
import type {
  ChangedDelay,
  Counts,
  DelayStats,
  GroupStats,
  HistoryPage,
  KeyStory,
  MatchingOptions,
} from '../api/selection.js';
import type { MoveTo } from '../config/durations.js';
import type { ResolvedOptions } from '../config/options.js';
import { lockWaits } from '../database/lock-waits.js';
import type { Runner } from '../database/runner.js';
import type { Changed, ManyVerb, TargetList } from '../store/many.store.js';
import { PauseStore } from '../store/pause.store.js';
import { type ListedPage, SelectionStore, type TopGroups } from '../store/selection.store.js';
import type { NameAndKey } from '../store/rows/delay-rows.js';
import type { ListedRow } from '../store/sql/delays.sql.js';
import type { liveOrEndedFilter, RowFilter } from '../store/filter.table.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import { StatementSize } from '../store/statement-size.js';
import type { CallersTransaction, Transactions } from '../transactions/transactions.js';
import type { Aborts } from './aborts.js';
import { writeNext, type StoryPage, type Target } from './arguments.js';
import type { ManyWrites } from './bulk-writes.js';
import { explainRow } from './explanations.js';
import type { HeldAttempt } from './lock-causes.js';
import { changeResult, combineStats, HISTORY_MAX, toInfo, toListed } from './results.js';

/** Most delays in one statement. A call outside of a transaction commits after each page. */
const PAGE = 1_000;

/** What this process knows of the attempts that it holds. */
export interface HeldAttempts {
  /** Of the sessions that its handlers may use. */
  readonly handlersPids: number[];
  /** Undefined: that delay is not held here. */
  held(id: number): HeldAttempt | undefined;
}

/** Reads delays and history, by key or by a filter, and changes the delays that match one. */
export class Matching {
  readonly #selection: SelectionStore;
  readonly #pauses: PauseStore;
  readonly #size = new StatementSize(PAGE);
  /** A node whose last heartbeat is older than this counts as gone. */
  readonly #nodeAliveMs: number;

  constructor(
    private readonly options: ResolvedOptions,
    private readonly many: ManyWrites,
    private readonly transactions: Transactions,
    private readonly aborts: Aborts,
    private readonly engine: HeldAttempts,
  ) {
    this.#selection = new SelectionStore(options.installation);
    this.#pauses = new PauseStore(options.installation);
    this.#nodeAliveMs = options.loadEveryMs * LOADS_MISSED_MAX;
  }

  async #look<Result>(
    options: InTransaction,
    read: (runner: Runner) => Promise<Result>,
  ): Promise<Result> {
    const { runner, inOrder } = this.transactions.of(options, 'look');
    return await inOrder('all', () => read(runner));
  }

  async find<N extends DelayName>(
    target: NameAndKey<N>,
    options: InTransaction,
  ): Promise<DelayInfo<N> | null> {
    const { runner, inOrder } = this.transactions.of(options, 'read');
    const row = await inOrder([target], () => this.#selection.find(runner, target));
    if (row === undefined) return null;
    return toInfo(row, await this.options.payloads.given(row.payload, row));
  }

  async historyOfKey(target: NameAndKey, options: InTransaction): Promise<DelayRecord[]> {
    const { runner, inOrder } = this.transactions.of(options, 'read');
    return await inOrder([target], () => this.#selection.history(runner, target, HISTORY_MAX));
  }

  async list(filter: RowFilter, page: ListedPage, options: InTransaction): Promise<ListedDelay[]> {
    const rows = await this.#look(options, (runner) => this.#live(runner, filter, page));
    return await toListed(rows, this.options.payloads);
  }

  #live(runner: Runner, filter: RowFilter, page: ListedPage): Promise<ListedRow[]> {
    return this.#selection.list(runner, filter, page, this.#nodeAliveMs);
  }

  async explain(target: Target, options: InTransaction): Promise<DelayExplanation> {
    const { runner, inOrder } = this.transactions.of(options, 'aside');
    const about = 'id' in target ? 'all' : [target];
    return await inOrder(about, async () => {
      const row = await this.#selection.explain(runner, target, this.#nodeAliveMs);
      const isHere = row.node === this.options.nodeName && (row.leaseMs ?? 0) > row.nowMs;
      const held = isHere ? this.engine.held(Number(row.id)) : undefined;
      // Of a plain attempt only the process is known, not which of its sessions it uses.
      const pids = held?.pid === undefined ? (isHere ? this.engine.handlersPids : []) : [held.pid];
      const waits = pids.length === 0 ? [] : await lockWaits(runner, pids);
      return explainRow(row, target, { loadEveryMs: this.options.loadEveryMs, waits, held });
    });
  }

  async count(
    counted: ReturnType<typeof liveOrEndedFilter>,
    options: InTransaction,
  ): Promise<number> {
    return await this.#look(options, (runner) =>
      counted.rows === 'live'
        ? this.#selection.count(runner, counted.filter)
        : this.#selection.countEnded(runner, counted.filter),
    );
  }

  async history(filter: RowFilter, page: StoryPage, options: InTransaction): Promise<HistoryPage> {
    return await this.#look(options, (runner) => this.#ended(runner, filter, page));
  }

  /** A delay that ends between two reads or pages may appear twice. It is never missed. */
  async story(filter: RowFilter, page: StoryPage, options: InTransaction): Promise<KeyStory> {
    const { limit, payload, position } = page;
    const { rows, ...ended } = await this.#look(options, async (runner) => {
      const live =
        position.among === 'live'
          ? await this.#live(runner, filter, { ...position, payload, limit: limit + 1 })
          : [];
      const shown = live.slice(0, limit);
      const left = limit - shown.length;
      if (left > 0) {
        return { rows: shown, ...(await this.#ended(runner, filter, { ...page, limit: left })) };
      }
      // The live rows fill the page: is there another one?
      const oldest = { behind: undefined, limit: 1 };
      const { rows: behind } =
        live.length > limit ? { rows: live } : await this.#selection.ended(runner, filter, oldest);
      const behindId = Number(shown.at(-1)?.id);
      const next = behind.length === 0 ? null : writeNext({ among: 'live', behindId });
      return { rows: shown, history: [], next };
    });
    return { delays: await toListed(rows, this.options.payloads), ...ended };
  }

  /** Reads one line more than the page holds, to learn whether there is another page. */
  async #ended(
    runner: Runner,
    filter: RowFilter,
    { limit, position }: StoryPage,
  ): Promise<HistoryPage> {
    const behind = position.among === 'ended' ? position.behind : undefined;
    const { rows, positions } = await this.#selection.ended(runner, filter, {
      behind,
      limit: limit + 1,
    });
    return {
      history: rows.slice(0, limit),
      next:
        rows.length > limit ? writeNext({ among: 'ended', behind: positions[limit - 1] }) : null,
    };
  }

  /** The live nodes alone. */
  async nodes(): Promise<DelayStats['nodes']> {
    const { runner } = this.transactions.of({}, 'look');
    return await this.#selection.nodeStats(runner, this.#nodeAliveMs);
  }

  async stats(options: InTransaction): Promise<DelayStats> {
    return await this.#look(options, async (runner) => {
      const nodes = await this.#selection.nodeStats(runner, this.#nodeAliveMs);
      const names = await this.#selection.nameStats(runner, this.#nodeAliveMs);
      return combineStats(names, nodes, await this.#pauses.list(runner));
    });
  }

  async groupStats(
    filter: RowFilter,
    top: TopGroups,
    options: InTransaction,
  ): Promise<GroupStats[]> {
    return await this.#look(options, (runner) => this.#selection.groupStats(runner, filter, top));
  }

  /**
   * Changes the delays that match, page by page in the order of their ids. Each matches when it is
   * changed. Delays that begin to match behind the current page are left out.
   * @param to only for `reschedule`
   * @param abortWithinMs only for `cancel`: how long a page's attempts have to end
   * @throws the signal's reason, between two pages: what was written stays
   */
  async change<Verdict extends string>(
    verb: ManyVerb,
    filter: RowFilter,
    { signal, onProgress, ...options }: MatchingOptions<Verdict>,
    to?: MoveTo,
    abortWithinMs?: number,
  ): Promise<Counts<Verdict>> {
    const transaction = this.transactions.of(options, 'write');
    const pages: Pages = { verb, to, filter, transaction, options, abortWithinMs };
    return await transaction.inOrder('all', async () => {
      if (abortWithinMs !== undefined) await this.aborts.refuseSnapshots(options);
      const counts: Record<string, number> & Counts<never> = {
        matched: 0,
        ...NONE[verb],
        ...(abortWithinMs !== undefined && { aborted: 0, absent: 0 }),
      };
      for (let behindId = 0; ;) {
        signal?.throwIfAborted();
        const { ids, isLast, verdicts, changed } = await this.#page(pages, behindId);
        for (const verdict of verdicts) {
          counts.matched += 1;
          counts[verdict] = (counts[verdict] ?? 0) + 1;
        }
        const told = { ...counts } as Counts<Verdict>;
        await adopted<unknown>(onProgress?.(told, changed as ChangedDelay<Verdict>[]));
        if (isLast) return counts;
        behindId = ids.at(-1) as number;
      }
    });
  }

  /** @returns the ids of the page, the verdict of each delay that matched, and what it changed */
  async #page(
    pages: Pages,
    behindId: number,
  ): Promise<{
    ids: readonly number[];
    isLast: boolean;
    verdicts: string[];
    changed: ChangedDelay[];
  }> {
    const { filter, abortWithinMs, options } = pages;
    const found = (runner: Runner, limit: number): Promise<number[]> =>
      this.#selection.ids(runner, filter, { behindId, limit });
    const { ids, isLast, changed } = await this.#write(pages, PAGE, found);
    const matched = [...changed.values()].filter(({ verdict }) => verdict !== 'absent');
    const running = matched.filter(({ verdict }) => verdict === 'running');
    const done = matched.filter(({ verdict }) => verdict !== 'running');
    const page = { ids, isLast, changed: done.map((one) => toChangedDelay(one)) };
    if (abortWithinMs === undefined) {
      return { ...page, verdicts: matched.map(({ verdict }) => verdict) };
    }
    // When its attempt has ended, the delay has another state.
    const { state: _, ...whatever } = filter;
    const aborted: ChangedDelay[] = [];
    const ended = await this.aborts.end(
      running.map(({ id }) => id),
      running.map(cancelResult),
      { transaction: options, giveUpAtMs: performance.now() + abortWithinMs },
      async (some) => {
        const looked = await this.#write({ ...pages, filter: whatever }, 1, async () => some);
        return some.map((_id, index) => {
          const one = looked.changed.get(index) as Changed;
          if (one.verdict === 'cancelled') aborted.push(toChangedDelay(one, 'aborted'));
          return cancelResult(one);
        });
      },
    );
    const last = ended.map(({ verdict }) => (verdict === 'cancelled' ? 'aborted' : verdict));
    return {
      ...page,
      changed: [...page.changed, ...aborted],
      verdicts: [...done.map(({ verdict }) => verdict), ...last],
    };
  }

  /**
   * Writes in the caller's transaction, or in a new one.
   * @param most ids to find; fewer if the statement size is smaller
   */
  async #write(
    { verb, to, filter, transaction, options: { by } }: Pages,
    most: number,
    found: (runner: Runner, limit: number) => Promise<readonly number[]>,
  ): Promise<{ ids: readonly number[]; isLast: boolean; changed: Map<number, Changed> }> {
    const { joined, ...written } = await this.transactions.runSized(
      this.#size,
      transaction,
      most,
      async (limit, its, runner) => {
        const ids = await found(runner, limit);
        const list: TargetList = { of: 'ids', targets: ids.map((id) => ({ id })) };
        const lists = [{ list, indexes: [...ids.keys()] }];
        const changed = await this.many.write(verb, lists, its, runner, { to, filter, by });
        return { ids, isLast: ids.length < limit, changed, joined: its };
      },
    );
    await this.many.announce(joined, written.changed.values());
    return written;
  }
}

interface Pages {
  verb: ManyVerb;
  to: MoveTo | undefined;
  filter: RowFilter;
  transaction: CallersTransaction;
  options: ChangeOptions;
  abortWithinMs: number | undefined;
}

const toChangedDelay = (
  { id, name, key, verdict }: Changed,
  as: string = verdict,
): ChangedDelay => ({
  id: String(id),
  name: name as string,
  key,
  verdict: as,
});

const cancelResult = (changed: Changed): CancelResult =>
  changeResult<CancelResult['verdict']>(changed);

/** Zero counts of the verdicts that each call can give. */
const NONE: Record<ManyVerb, Record<string, number>> = {
  cancel: { cancelled: 0, running: 0 },
  erase: { cancelled: 0, running: 0 },
  reschedule: { rescheduled: 0, running: 0 },
  runNow: { due: 0, running: 0 },
  retryDead: { retried: 0 },
  discardDead: { discarded: 0 },
};
