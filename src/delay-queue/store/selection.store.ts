import type { GroupOrder } from '../api/selection.js';
import { given, type Runner } from '../database/runner.js';
import { type Installation, type Tables, tablesOf } from '../database/tables.js';
import {
  type CountAnswer,
  type EndedAnswer,
  historyOf,
  type IdAnswer,
  idOf,
  type ListAnswer,
  listedOf,
  numberOf,
} from './rows/answers.js';
import type { HistoryRow, ListedRow } from './rows/delay-rows.js';
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
} from './rows/stats-rows.js';
import { countSql, idsSql, listSql } from './sql/delays.sql.js';
import {
  anyNameOf,
  type AnyRowFilter,
  type EndedFilter,
  matching,
  matchingEnded,
  type RowFilter,
} from './sql/fragments/filter.js';
import { endedSql } from './sql/history.sql.js';
import { groupStatsSql, nameStatsSql, nodeStatsSql } from './sql/stats.sql.js';

/** A page of rows in the order of their ids. */
export interface Page {
  behindId: number;
  limit: number;
}

/** The position of a history row: its end in microseconds since 1970, and its delay. */
export interface EndedPosition {
  endedUs: number;
  id: number;
  epoch: number;
}

/** The groups with the highest value of `by`. */
export interface TopGroups {
  by: GroupOrder;
  limit: number;
}

/** Reads live delays, dead letters included, and history by a filter. */
export class SelectionStore {
  readonly #tables: Tables;

  constructor(of: string | Installation) {
    this.#tables = tablesOf(of);
  }

  /** @param aliveMs how long a silent node still counts as alive */
  async list(runner: Runner, filter: RowFilter, page: Page, aliveMs: number): Promise<ListedRow[]> {
    const { sql, parameters } = this.#where(filter, 4);
    const rows = await runner.query<ListAnswer>(listSql(this.#tables, sql), [
      page.behindId,
      page.limit,
      aliveMs,
      ...parameters,
    ]);
    return rows.map(listedOf);
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

  /** Ended delays, newest first, from the newest or `behind` a row. */
  async ended(
    runner: Runner,
    filter: EndedFilter,
    { behind, limit }: { behind: EndedPosition | undefined; limit: number },
  ): Promise<{ rows: HistoryRow[]; places: EndedPosition[] }> {
    const { sql, parameters } = this.#ofAnyName('history', filter, matchingEnded(filter, 5));
    const from =
      behind === undefined
        ? ['infinity', 0, 0]
        : [instantOfUs(behind.endedUs), behind.id, behind.epoch];
    const answers = await runner.query<EndedAnswer>(endedSql(this.#tables, sql), [
      ...from,
      limit,
      ...parameters,
    ]);
    return {
      rows: answers.map(historyOf),
      places: answers.map(({ ended_us: endedUs, id, epoch }) => ({
        endedUs: Number(endedUs),
        id: Number(id),
        epoch: Number(epoch),
      })),
    };
  }

  async nameStats(runner: Runner, aliveMs: number): Promise<NameStatsRow[]> {
    const rows = await runner.query<NameStatsAnswer>(nameStatsSql(this.#tables), [aliveMs]);
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

  async nodeStats(runner: Runner, aliveMs: number): Promise<NodeStatsRow[]> {
    const rows = await runner.query<NodeStatsAnswer>(nodeStatsSql(this.#tables), [aliveMs]);
    return rows.map(nodeStatsOf);
  }

  #where(filter: RowFilter, first: number): { sql: string; parameters: string[] } {
    return this.#ofAnyName('delay', filter, matching(filter, first));
  }

  /** The index that finds a key leads with the name. */
  #ofAnyName(
    table: 'delay' | 'history',
    { names, key, keyPrefix }: AnyRowFilter,
    { sql, parameters }: { sql: string; parameters: string[] },
  ): { sql: string; parameters: string[] } {
    const isOfAnyName = names === undefined && (key ?? keyPrefix) !== undefined;
    if (!isOfAnyName) return { sql, parameters };
    return { sql: `${sql} AND ${anyNameOf(this.#tables[table])}`, parameters };
  }
}

/** As a text, because a `Date` drops the microseconds. */
function instantOfUs(us: number): string {
  const whole = Math.floor(us / 1e3);
  return new Date(whole)
    .toISOString()
    .replace('Z', `${String(us - whole * 1e3).padStart(3, '0')}Z`);
}
