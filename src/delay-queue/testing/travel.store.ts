import { dueOneSql, dueSql } from '../store/sql/testing/due.sql.js';
import { nextSql } from '../store/sql/testing/next.sql.js';
import { SelectionStore } from '../store/selection.store.js';
import { type Installation, tablesOf } from '../store/tables/schema.js';
import { msOfUs, type AsText } from '../store/wire/answers.js';
import { numbers, texts } from '../store/wire/arrays.js';
import { given, type Runner } from '../store/wire/runner.js';
import type { Wake } from '../store/wire/wakes.js';

/** What is due of one delay, and what its handler will get. */
export interface DueRow extends Wake {
  key: string | null;
  payload: unknown;
}

/** The same as it is stored. */
export type DueText = Omit<DueRow, 'payload'> & { text: string };

/** Rows of one run, at most. */
const PAGE_MAX = 1_000;

type DueAnswer = AsText<
  'id' | 'epoch' | 'name' | 'payload' | 'wake_us' | 'stalled' | 'failed',
  'key' | 'group_id'
>;

/** Reads what is due, and when the next is. */
export class TravelStore {
  readonly #sql;
  readonly #selection: SelectionStore;

  constructor(of: Installation) {
    const tables = tablesOf(of);
    this.#sql = { next: nextSql(tables), due: dueSql(tables), dueOne: dueOneSql(tables) };
    this.#selection = new SelectionStore(of);
  }

  /**
   * When the next of those names is due, or a pause ends; milliseconds since 1970, Infinity: there is nothing.
   * @param held ids of those that a limit holds back
   */
  async nextMs(runner: Runner, names: readonly string[], held: readonly number[]): Promise<number> {
    const [row] = await runner.query<AsText<never, 'next_ms'>>(this.#sql.next, [
      texts(names),
      numbers(held),
    ]);
    const { next_ms: nextMs } = given(row);
    return nextMs === null ? Infinity : Number(nextMs);
  }

  /** @param which those that were due first, all of them, or the one with that id, due or not */
  async due(
    runner: Runner,
    names: readonly string[],
    which: 'first' | 'all' | number,
    held: readonly number[],
  ): Promise<DueText[]> {
    const rows =
      typeof which === 'number'
        ? await runner.query<DueAnswer>(this.#sql.dueOne, [which])
        : await runner.query<DueAnswer>(this.#sql.due, [
            texts(names),
            numbers(held),
            which === 'first',
            PAGE_MAX,
          ]);
    return rows.map((row) => ({
      id: Number(row.id),
      epoch: Number(row.epoch),
      name: row.name,
      group: row.group_id,
      key: row.key,
      text: row.payload,
      wakeMs: msOfUs(row.wake_us),
      stalled: row.stalled === 'true',
      failed: row.failed === 'true',
    }));
  }

  /** Names of the nodes that live, this one among them. */
  async liveNodes(runner: Runner, aliveMs: number): Promise<string[]> {
    return (await this.#selection.nodeStats(runner, aliveMs)).map(({ id }) => id);
  }
}
