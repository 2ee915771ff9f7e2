import { adopted } from '../api/adopted.js';
import type { EraseCounts, EraseOptions } from '../api/selection.js';
import type { Installation } from '../database/tables.js';
import { EraseStore } from '../store/erase.store.js';
import { SelectionStore } from '../store/selection.store.js';
import type { ErasedTable } from '../store/sql/erase.sql.js';
import { indexedBy, type RowFilter } from '../store/filter.table.js';
import type { Transactions } from '../transactions/transactions.js';
import type { Matching } from './matching.js';

/** Counting stops there: no page reads more. */
const COUNTED_MAX = 2 ** 31 - 1;

/** Removes what the library has stored about one person, and leaves no trace of it. */
export class Erasures {
  readonly #store: EraseStore;
  readonly #selection: SelectionStore;

  constructor(
    installation: Installation,
    private readonly transactions: Transactions,
    private readonly matching: Matching,
  ) {
    this.#store = new EraseStore(installation);
    this.#selection = new SelectionStore(installation);
  }

  /**
   * Live delays first: what ends meanwhile is in the history that is erased behind them.
   * @throws the signal's reason, between two pages: what is erased stays so
   */
  async erase(filter: RowFilter, options: EraseOptions): Promise<EraseCounts> {
    if (options.dryRun === true) return await this.count(filter, options);
    const { signal, onProgress, operations = true, by, manager, tx } = options;
    const { runner, inOrder } = this.transactions.of({ manager, tx }, 'write');
    const counts: EraseCounts = { ...NOTHING };
    const tell = async (): Promise<void> => {
      await adopted<unknown>(onProgress?.({ ...counts }));
      signal?.throwIfAborted();
    };
    const through = async (
      pages: AsyncGenerator<number>,
      into?: keyof EraseCounts,
    ): Promise<void> => {
      for await (const count of pages) {
        if (into !== undefined) counts[into] += count;
        if (count > 0) await tell();
      }
    };
    signal?.throwIfAborted();
    await inOrder('all', () => through(this.#store.rows(runner, 'rerun', filter), 'erased'));
    const reruns = counts.erased;
    await this.matching.change<'cancelled' | 'running'>('erase', filter, {
      by,
      manager,
      tx,
      signal,
      onProgress: async ({ cancelled, running }, changed) => {
        Object.assign(counts, { erased: reruns + cancelled, running });
        await this.#store.changes(runner, changed);
        await tell();
      },
    });
    await inOrder('all', async () => {
      await through(this.#store.history(runner, filter), 'history');
      for (const [place, its] of placesBeside(filter)) {
        const into = place === 'pause' ? 'pauses' : undefined;
        await through(this.#store.rows(runner, place, its), into);
      }
      if (operations) await through(this.#store.operationTexts(runner, filter), 'operations');
    });
    return counts;
  }

  /** What an erase would remove now. */
  async count(
    filter: RowFilter,
    { manager, tx, operations = true }: Pick<EraseOptions, 'manager' | 'tx' | 'operations'>,
  ): Promise<EraseCounts> {
    const { runner, inOrder } = this.transactions.of({ manager, tx }, 'read');
    return await inOrder('all', async () => {
      const { running = 0, ...others } = Object.fromEntries(
        await this.#selection.countByState(runner, filter, COUNTED_MAX),
      );
      const pauses = placesBeside(filter).find(([place]) => place === 'pause');
      return {
        erased:
          Object.values(others).reduce((sum, count) => sum + count, 0) +
          (await this.#store.count(runner, 'rerun', filter)),
        running,
        history: await this.#selection.countEnded(runner, filter),
        pauses: pauses === undefined ? 0 : await this.#store.count(runner, ...pauses),
        operations: operations ? await this.#store.countOperations(runner, filter) : 0,
      };
    });
  }
}

const NOTHING: EraseCounts = { erased: 0, running: 0, history: 0, pauses: 0, operations: 0 };

/** Where else a filter leads by itself: of a key to lists of operations, of a group to its limits. */
function placesBeside(filter: RowFilter): [ErasedTable, RowFilter][] {
  const [ofKeys, ofGroups] = (['key', 'group'] as const).map(
    (index) => Object.keys(indexedBy(filter, index)).length > 0,
  );
  if (filter.headers !== undefined || (ofKeys && ofGroups)) return [];
  const places = ofKeys ? (['operationChange'] as const) : (['pause', 'quota', 'permit'] as const);
  return places.map((place) => [place, filter]);
}
