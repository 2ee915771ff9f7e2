import type { GroupOrder } from '../delay/selection.js';
import { groupStatsSql } from './sql/stats/group-stats.sql.js';
import { countSql, idsSql, listSql } from './sql/delays/find.sql.js';
import { historyOfKeySql } from './sql/history/read.sql.js';
import { nameStatsSql, nodeStatsSql } from './sql/stats/stats.sql.js';
import { anyNameOf, matching, type RowFilter } from './sql/parts/filter.js';
import { type Installation, tablesOf, type Tables } from './tables/schema.js';
import {
  type CountAnswer,
  type FindAnswer,
  foundOf,
  type HistoryAnswer,
  historyOf,
  type IdAnswer,
  idOf,
  numberOf,
} from './wire/answers.js';
import type { FoundRow, HistoryRow } from './wire/delay-rows.js';
import {
  type GroupStatsAnswer,
  groupStatsOf,
  type GroupStatsRow,
  type NameStatsAnswer,
  nameStatsOf,
  type NameStatsRow,
  type NodeStatsAnswer,
  nodeStatsOf,
  type NodeStatsRow,
} from './wire/stats-rows.js';
import { given, type Runner } from './wire/runner.js';

/** Of rows in the order of their ids. */
export interface Page {
  behindId: number;
  limit: number;
}

/** The groups that have the most of that. */
export interface TopGroups {
  by: GroupOrder;
  limit: number;
}

/** Reads live delays by a filter, dead letters included. */
export class SelectionStore {
  readonly #tables: Tables;

  constructor(of: string | Installation) {
    this.#tables = tablesOf(of);
  }

  async list(runner: Runner, filter: RowFilter, page: Page): Promise<FoundRow[]> {
    const { sql, parameters } = this.#where(filter, 3);
    const rows = await runner.query<FindAnswer>(listSql(this.#tables, sql), [
      page.behindId,
      page.limit,
      ...parameters,
    ]);
    return rows.map(foundOf);
  }

  async ids(runner: Runner, filter: RowFilter, page: Page): Promise<number[]> {
    const { sql, parameters } = this.#where(filter, 3);
    const rows = await runner.query<IdAnswer>(idsSql(this.#tables, sql), [
      page.behindId,
      page.limit,
      ...parameters,
    ]);
    return rows.map(idOf);
  }

  async count(runner: Runner, filter: RowFilter): Promise<number> {
    const { sql, parameters } = this.#where(filter, 1);
    const [row] = await runner.query<CountAnswer>(countSql(this.#tables, sql), parameters);
    return numberOf(given(row).count);
  }

  /** What became of the delays of that key, of any name, newest first. */
  async historyOf(runner: Runner, key: string, limit: number): Promise<HistoryRow[]> {
    const rows = await runner.query<HistoryAnswer>(historyOfKeySql(this.#tables), [key, limit]);
    return rows.map(historyOf);
  }

  async nameStats(runner: Runner): Promise<NameStatsRow[]> {
    const rows = await runner.query<NameStatsAnswer>(nameStatsSql(this.#tables), []);
    return rows.map(nameStatsOf);
  }

  async groupStats(
    runner: Runner,
    filter: RowFilter,
    { by, limit }: TopGroups,
  ): Promise<GroupStatsRow[]> {
    const { sql, parameters } = this.#where(filter, 2);
    const rows = await runner.query<GroupStatsAnswer>(groupStatsSql(this.#tables, sql, by), [
      limit,
      ...parameters,
    ]);
    return rows.map(groupStatsOf);
  }

  /** @param aliveMs for how long a node counts as alive of which nobody can tell */
  async nodeStats(runner: Runner, aliveMs: number): Promise<NodeStatsRow[]> {
    const rows = await runner.query<NodeStatsAnswer>(nodeStatsSql(this.#tables), [aliveMs]);
    return rows.map(nodeStatsOf);
  }

  /** A key is looked up in an index that has the name first. */
  #where(filter: RowFilter, first: number): { sql: string; parameters: string[] } {
    const { sql, parameters } = matching(filter, first);
    const isOfAnyName =
      filter.names === undefined && (filter.key ?? filter.keyPrefix) !== undefined;
    if (!isOfAnyName) return { sql, parameters };
    return { sql: `${sql} AND ${anyNameOf(this.#tables.delay)}`, parameters };
  }
}
