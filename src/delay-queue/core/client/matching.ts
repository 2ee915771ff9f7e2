import { adopted } from '../api/adopted.js';
import type { CancelResult, ChangeOptions } from '../api/delay.js';
import type { ChangedDelay, Counts, MatchingOptions } from '../api/selection.js';
import type { MoveTo } from '../config/durations.js';
import type { Installation } from '../database/tables.js';
import type { Runner } from '../database/runner.js';
import type { RowFilter } from '../store/filter.table.js';
import type { Changed, ManyVerb } from '../store/many.store.js';
import { SelectionStore } from '../store/selection.store.js';
import { StatementSize } from '../store/statement-size.js';
import type { CallersTransaction, Transactions } from '../transactions/transactions.js';
import type { Aborts } from './aborts.js';
import type { ManyWrites } from './bulk-writes.js';
import { changeResult } from './results.js';

/** Most delays in one statement. A call outside of a transaction commits after each page. */
const PAGE = 1_000;

/** Changes the delays that match a filter. */
export class Matching {
  readonly #selection: SelectionStore;
  readonly #size = new StatementSize(PAGE);

  constructor(
    installation: Installation,
    private readonly many: ManyWrites,
    private readonly transactions: Transactions,
    private readonly aborts: Aborts,
  ) {
    this.#selection = new SelectionStore(installation);
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
    const isCallers = transaction.joined !== undefined;
    const { joined, ...written } = await this.#size.runAll(most, isCallers, (limit) =>
      this.transactions.run(transaction, async (its, runner) => {
        const ids = await found(runner, limit);
        const page = ids.map((id, index) => ({ target: { id }, index }));
        const changed = await this.many.write(verb, [page], its, runner, { to, filter, by });
        return { ids, isLast: ids.length < limit, changed, joined: its };
      }),
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
