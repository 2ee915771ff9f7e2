import {
  type AsText,
  bring,
  BY_INDEX,
  dueOneSql,
  dueSql,
  given,
  type Installation,
  liveNodesSql,
  msOfUs,
  nextSql,
  numbers,
  type Runner,
  qualifiedTables,
  texts,
  type Transactor,
  type Wake,
} from '../core/ops.js';

/** A due delay, with what its handler will get. */
export interface DueRow extends Wake {
  key: string | null;
  payload: unknown;
}

/** The same, as stored. */
export type DueText = Omit<DueRow, 'payload'> & { text: string };

type Connections = Runner & Transactor;

/** Most rows of one run. */
const PAGE_MAX = 1_000;

type DueAnswer = AsText<
  'id' | 'epoch' | 'name' | 'payload' | 'wake_us' | 'stalled' | 'failed',
  'key' | 'group_id'
>;

export class TravelStore {
  readonly #sql;

  constructor(of: Installation) {
    const tables = qualifiedTables(of);
    this.#sql = {
      next: nextSql(tables),
      due: dueSql(tables),
      dueOne: dueOneSql(tables),
      liveNodes: liveNodesSql(tables),
    };
  }

  /**
   * When the next delay of those names is due or a pause ends, in milliseconds since 1970;
   * Infinity: never.
   * @param held ids of throttled delays
   */
  async nextMs(
    runner: Connections,
    names: readonly string[],
    held: readonly number[],
  ): Promise<number> {
    const [row] = await byIndex<AsText<never, 'next_ms'>>(runner, this.#sql.next, [
      texts(names),
      numbers(held),
    ]);
    const { next_ms: nextMs } = given(row);
    return nextMs === null ? Infinity : Number(nextMs);
  }

  /** @param which those that were due first, all, or the one with that id, due or not */
  async due(
    runner: Connections,
    names: readonly string[],
    which: 'first' | 'all' | number,
    held: readonly number[],
  ): Promise<DueText[]> {
    const rows =
      typeof which === 'number'
        ? await runner.query<DueAnswer>(this.#sql.dueOne, [which])
        : await byIndex<DueAnswer>(runner, this.#sql.due, [
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

  /** Names of the live nodes, including this one. */
  async liveNodes(runner: Runner, aliveMs: number): Promise<string[]> {
    const rows = await runner.query<AsText<'id'>>(this.#sql.liveNodes, [aliveMs]);
    return rows.map(({ id }) => id);
  }
}

/**
 * Forces the index. Without statistics, as in a table that a test has just filled, every plan looks
 * as good, and each step would read all rows.
 */
function byIndex<Row>(connections: Transactor, sql: string, parameters: unknown[]): Promise<Row[]> {
  return connections.inTransaction(async (runner) => {
    await bring(runner, BY_INDEX, 'transaction ends');
    return await runner.query<Row>(sql, parameters);
  });
}
