import type {
  DelayInfo,
  DelayName,
  DelayRecord,
  InTransaction,
  ListedDelay,
} from '../api/delay.js';
import type { DelayExplanation } from '../api/explanation.js';
import type { DelayStats, GroupStats, HistoryPage, KeyStory } from '../api/selection.js';
import type { ResolvedOptions } from '../config/options.js';
import { lockWaits } from '../database/lock-waits.js';
import type { Runner } from '../database/runner.js';
import type { liveOrEndedFilter, RowFilter } from '../store/filter.table.js';
import { PauseStore } from '../store/pause.store.js';
import type { NameAndKey, Target } from '../store/rows/delay-rows.js';
import { type ListedPage, SelectionStore, type TopGroups } from '../store/selection.store.js';
import type { ListedRow } from '../store/sql/delays.sql.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import type { Transactions } from '../transactions/transactions.js';
import { type StoryPage, writeNext } from './arguments.js';
import { explainRow } from './explanations.js';
import type { HeldAttempt } from './lock-causes.js';
import { combineStats, HISTORY_MAX, toInfo, toListed } from './results.js';

/** What this process knows of the attempts that it holds. */
export interface HeldAttempts {
  /** The server processes of the sessions that its handlers may use. */
  readonly handlersPids: number[];
  /** Undefined: that delay is not held here. */
  held(id: number): HeldAttempt | undefined;
}

/** Reads delays and history, by key or by a filter. */
export class Reads {
  readonly #selection: SelectionStore;
  readonly #pauses: PauseStore;
  /** A node whose last heartbeat is older than this counts as gone. */
  readonly #nodeAliveMs: number;

  constructor(
    private readonly options: ResolvedOptions,
    private readonly transactions: Transactions,
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
    { rows, filter }: ReturnType<typeof liveOrEndedFilter>,
    options: InTransaction,
  ): Promise<number> {
    return await this.#look(options, (runner) =>
      rows === 'live'
        ? this.#selection.count(runner, filter)
        : this.#selection.countEnded(runner, filter),
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
}
