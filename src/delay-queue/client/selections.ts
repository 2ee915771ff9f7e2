import { adopted } from '../api/adopted.js';
import type {
  CancelResult,
  ChangeOptions,
  DelayInfo,
  DelayName,
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
import type { Payloads } from '../config/payloads.js';
import { lockWaits } from '../database/lock-waits.js';
import type { Runner } from '../database/runner.js';
import type { Installation } from '../database/tables.js';
import type { Changed, ManyVerb, TargetList } from '../store/many.store.js';
import { type ListedPage, SelectionStore, type TopGroups } from '../store/selection.store.js';
import type { FoundRow, ListedRow } from '../store/sql/delays.sql.js';
import type { AnyRowFilter, EndedFilter, RowFilter } from '../store/sql/fragments/filter.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import { StatementSize } from '../store/statement-size.js';
import type { CallersTransaction } from '../transactions/callers-transaction.js';
import { inSmallerStatements, type Transactions } from '../transactions/transactions.js';
import { type liveOrEndedOf, nextOf, type StoryPosition, type Target } from './arguments.js';
import type { ManyWrites } from './bulk-writes.js';
import type { Cancels } from './cancels.js';
import { explanationOf } from './explanations.js';
import type { HeldAttempt } from './lock-causes.js';
import type { Pausing } from './pauses.js';
import { infoOf, listedOf, nodeOf, recordOf, statsOf } from './results.js';
import { answerOf } from './writes.js';

/** Most delays in one statement. A call outside of a transaction commits after each page. */
const PAGE = 1_000;

/** What this process knows of the attempts that it holds. */
export interface HeldAttempts {
  /** Of the sessions that its handlers may use. */
  readonly handlersPids: number[];
  /** Undefined: that delay is not held here. */
  held(id: number): HeldAttempt | undefined;
}

interface StoryPage {
  limit: number;
  payload?: boolean;
  position: StoryPosition;
}

/** Reads and changes delays that match a filter. */
export class Matching {
  readonly #selection: SelectionStore;
  readonly #size = new StatementSize(PAGE);
  readonly #nodeName: string;
  readonly #payloads: Payloads;
  /** Pause between two heartbeats of a node. */
  readonly #loadEveryMs: number;
  /** A node whose last heartbeat is older than this counts as gone. */
  readonly #nodeAliveMs: number;

  constructor(
    {
      installation,
      nodeName,
      loadEveryMs,
      payloads,
    }: { installation: Installation; nodeName: string; loadEveryMs: number; payloads: Payloads },
    private readonly many: ManyWrites,
    private readonly transactions: Transactions,
    private readonly pausing: Pausing,
    private readonly cancels: Cancels,
    private readonly engine: HeldAttempts,
  ) {
    this.#selection = new SelectionStore(installation);
    this.#nodeName = nodeName;
    this.#payloads = payloads;
    this.#loadEveryMs = loadEveryMs;
    this.#nodeAliveMs = loadEveryMs * LOADS_MISSED_MAX;
  }

  /** @throws DelayCodecError */
  async infoOf<N extends DelayName>(name: N, row: FoundRow): Promise<DelayInfo<N>> {
    return infoOf(name, row, await this.#payloads.given(row.payload, row));
  }

  async list(filter: RowFilter, page: ListedPage, options: InTransaction): Promise<ListedDelay[]> {
    const { runner, inOrder } = this.transactions.of(options, 'look');
    const rows = await inOrder('all', () => this.#live(runner, filter, page));
    return await listedOf(rows, this.#payloads);
  }

  #live(runner: Runner, filter: RowFilter, page: ListedPage): Promise<ListedRow[]> {
    return this.#selection.list(runner, filter, page, this.#nodeAliveMs);
  }

  async explain(target: Target, options: InTransaction): Promise<DelayExplanation> {
    const { runner, inOrder } = this.transactions.of(options, 'aside');
    const about = 'id' in target ? 'all' : [target];
    return await inOrder(about, async () => {
      const row = await this.#selection.explain(runner, target, this.#nodeAliveMs);
      const isHere = row.node === this.#nodeName && (row.leaseMs ?? 0) > row.nowMs;
      const held = isHere ? this.engine.held(Number(row.id)) : undefined;
      // Of a plain attempt only the process is known, not which of its sessions it uses.
      const pids = held?.pid === undefined ? (isHere ? this.engine.handlersPids : []) : [held.pid];
      const waits = pids.length === 0 ? [] : await lockWaits(runner, pids);
      return explanationOf(row, target, { loadEveryMs: this.#loadEveryMs, waits, held });
    });
  }

  async count(counted: ReturnType<typeof liveOrEndedOf>, options: InTransaction): Promise<number> {
    const { runner, inOrder } = this.transactions.of(options, 'look');
    return await inOrder('all', () =>
      counted.of === 'live'
        ? this.#selection.count(runner, counted.filter)
        : this.#selection.countEnded(runner, counted.filter),
    );
  }

  async history(
    filter: EndedFilter,
    page: StoryPage,
    options: InTransaction,
  ): Promise<HistoryPage> {
    const { runner, inOrder } = this.transactions.of(options, 'look');
    return await inOrder('all', () => this.#ended(runner, filter, page));
  }

  /** A delay that ends between two reads or pages may appear twice. It is never missed. */
  async story(filter: AnyRowFilter, page: StoryPage, options: InTransaction): Promise<KeyStory> {
    const { limit, payload, position } = page;
    const { runner, inOrder } = this.transactions.of(options, 'look');
    const { rows, ...ended } = await inOrder('all', async () => {
      const live =
        position.among === 'live'
          ? await this.#live(runner, filter, { ...position, payload, limit: limit + 1 })
          : [];
      if (live.length > limit) {
        const behindId = Number(live[limit - 1]?.id);
        return {
          rows: live.slice(0, limit),
          history: [],
          next: nextOf({ among: 'live', behindId }),
        };
      }
      const rest: StoryPage = { ...page, limit: limit - live.length };
      return { rows: live, ...(await this.#endedAfter(runner, filter, rest, live)) };
    });
    return { delays: await listedOf(rows, this.#payloads), ...ended };
  }

  /** The history behind the live rows. If those fill the page: a cursor, null without history. */
  async #endedAfter(
    runner: Runner,
    filter: AnyRowFilter,
    { limit, payload, position }: StoryPage,
    live: readonly ListedRow[],
  ): Promise<HistoryPage> {
    if (limit > 0) return await this.#ended(runner, filter, { limit, payload, position });
    const { rows } = await this.#selection.ended(runner, filter, { behind: undefined, limit: 1 });
    if (rows.length === 0) return { history: [], next: null };
    return { history: [], next: nextOf({ among: 'live', behindId: Number(live.at(-1)?.id) }) };
  }

  /** Reads one line more than the page holds, to learn whether there is another page. */
  async #ended(
    runner: Runner,
    filter: EndedFilter,
    { limit, position }: StoryPage,
  ): Promise<HistoryPage> {
    const behind = position.among === 'ended' ? position.behind : undefined;
    const { rows, positions } = await this.#selection.ended(runner, filter, {
      behind,
      limit: limit + 1,
    });
    return {
      history: rows.slice(0, limit).map(recordOf),
      next: rows.length > limit ? nextOf({ among: 'ended', behind: positions[limit - 1] }) : null,
    };
  }

  /** The live nodes alone. */
  async nodes(): Promise<DelayStats['nodes']> {
    const { runner } = this.transactions.of({}, 'look');
    return (await this.#selection.nodeStats(runner, this.#nodeAliveMs)).map(nodeOf);
  }

  async stats(options: InTransaction): Promise<DelayStats> {
    const { runner, inOrder } = this.transactions.of(options, 'look');
    return await inOrder('all', async () => {
      const nodes = await this.#selection.nodeStats(runner, this.#nodeAliveMs);
      const names = await this.#selection.nameStats(runner, this.#nodeAliveMs);
      return statsOf(names, nodes, await this.pausing.list(options));
    });
  }

  async groupStats(
    filter: RowFilter,
    top: TopGroups,
    options: InTransaction,
  ): Promise<GroupStats[]> {
    const { runner, inOrder } = this.transactions.of(options, 'look');
    return await inOrder('all', () => this.#selection.groupStats(runner, filter, top));
  }

  /**
   * Changes the delays that match, page by page in the order of their ids. Each matches when it is
   * changed. Delays that begin to match behind the current page are left out.
   * @param to only for `reschedule`
   * @param abortWithinMs only for `cancel`: how long a page's attempts have to end; undefined
   *   leaves them alone
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
      if (abortWithinMs !== undefined) await this.cancels.refuseSnapshots(options);
      const aborts: Record<string, number> =
        abortWithinMs === undefined ? {} : { aborted: 0, absent: 0 };
      const counts: Record<string, number> & Counts<never> = {
        matched: 0,
        ...NONE[verb],
        ...aborts,
      };
      for (let behindId = 0; ;) {
        signal?.throwIfAborted();
        const { ids, isLast, verdicts, changed } = await this.#page(pages, behindId);
        for (const verdict of verdicts) {
          counts.matched += 1;
          counts[verdict] = (counts[verdict] ?? 0) + 1;
        }
        const told = [
          { ...counts } as Counts<Verdict>,
          changed as ChangedDelay<Verdict>[],
        ] as const;
        await adopted<unknown>(onProgress?.(...told));
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
    const done = matched.filter(({ verdict }) => verdict !== 'running');
    const verdicts = done.map(({ verdict }) => verdict);
    const first = done.map((one) => changedOf(one));
    const running = matched.filter(({ verdict }) => verdict === 'running').map(({ id }) => id);
    if (abortWithinMs === undefined) {
      return {
        ids,
        isLast,
        verdicts: [...verdicts, ...running.map(() => 'running')],
        changed: first,
      };
    }
    // When its attempt has ended, the delay has another state.
    const { states: _, ...whatever } = filter;
    const aborted: ChangedDelay[] = [];
    const ended = await this.cancels.ending(
      running,
      running.map(runningResult),
      { transaction: options, abortWithinMs },
      async (some) => {
        const looked = await this.#write({ ...pages, filter: whatever }, 1, async () => some);
        return some.map((_id, index) => {
          const one = looked.changed.get(index) as Changed;
          if (one.verdict === 'cancelled') aborted.push(changedOf(one, 'aborted'));
          return resultOf(one);
        });
      },
    );
    const last = ended.map(({ verdict }) => (verdict === 'cancelled' ? 'aborted' : verdict));
    return { ids, isLast, verdicts: [...verdicts, ...last], changed: [...first, ...aborted] };
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
    const { ids, isLast, changed, manager } = await inSmallerStatements(
      this.#size,
      transaction,
      most,
      (limit) =>
        this.transactions.run(transaction, async (joined, runner) => {
          const page = await found(runner, limit);
          const list: TargetList = { of: 'ids', targets: page.map((id) => ({ id })) };
          const lists = [{ list, indexes: [...page.keys()] }];
          return {
            ids: page,
            isLast: page.length < limit,
            changed: await this.many.write(verb, lists, joined, runner, { to, filter, by }),
            manager: joined,
          };
        }),
    );
    this.many.announce(manager, changed.values());
    return { ids, isLast, changed };
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

const changedOf = ({ id, name, key, verdict }: Changed, as: string = verdict): ChangedDelay => ({
  id: String(id),
  name: name as string,
  key,
  verdict: as,
});

const runningResult = (id: number): CancelResult => ({
  verdict: 'running',
  id: String(id),
  dueAt: new Date(0),
});

const resultOf = (changed: Changed): CancelResult =>
  changed.verdict === 'absent'
    ? { verdict: 'absent' }
    : answerOf(changed.verdict as 'cancelled' | 'running', changed);

/** Zero counts of the verdicts that each call can give. */
const NONE: Record<ManyVerb, Record<string, number>> = {
  cancel: { cancelled: 0, running: 0 },
  erase: { cancelled: 0, running: 0 },
  reschedule: { rescheduled: 0, running: 0 },
  runNow: { due: 0, running: 0 },
  retryDead: { retried: 0 },
  discardDead: { discarded: 0 },
};
