import { dueSql } from '../store/sql/testing/due.sql.js';
import { MOVES_WITHIN_MS, travelSql } from '../store/sql/testing/travel.sql.js';
import { SelectionStore } from '../store/selection.store.js';
import { orHeld } from '../store/stable-look.js';
import { tablesOf } from '../store/tables/schema.js';
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

/** How far time went, and whether something is due by then. */
export interface Step {
  ms: number;
  isDue: boolean;
}

/** Rows of one run, at most. */
const PAGE_MAX = 1_000;

type DueAnswer = AsText<
  'id' | 'epoch' | 'name' | 'payload' | 'wake_us' | 'stalled' | 'failed',
  'key' | 'group_id'
>;

/** Reads what is due, and lets time pass. */
export class TravelStore {
  readonly #sql;
  readonly #selection: SelectionStore;

  constructor(schema: string) {
    const tables = tablesOf(schema);
    this.#sql = { travel: travelSql(tables), due: dueSql(tables) };
    this.#selection = new SelectionStore(schema);
  }

  /**
   * @param held ids of those that a limit holds back
   * @throws DelayUnstableError when somebody holds rows that would move; then none has moved
   */
  async travel(
    runner: Runner,
    names: readonly string[],
    leftMs: number,
    held: readonly number[],
  ): Promise<Step> {
    const [row] = await orHeld(runner, MOVES_WITHIN_MS, () =>
      runner.query<AsText<'ms' | 'is_due'>>(this.#sql.travel, [
        texts(names),
        leftMs,
        numbers(held),
      ]),
    );
    const { ms, is_due: isDue } = given(row);
    return { ms: Number(ms), isDue: isDue === 'true' };
  }

  /** @param which those that were due first, all of them, or the one with that id */
  async due(
    runner: Runner,
    names: readonly string[],
    which: 'first' | 'all' | number,
    held: readonly number[],
  ): Promise<DueText[]> {
    const id = typeof which === 'number' ? which : null;
    const rows = await runner.query<DueAnswer>(this.#sql.due, [
      texts(names),
      which === 'first',
      id,
      PAGE_MAX,
      numbers(held),
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
