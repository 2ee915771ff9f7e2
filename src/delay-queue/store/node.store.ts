import type { HistoryKeep } from '../config/options.js';
import { byPurpose } from '../database/prepared-statements.js';
import { given, type Runner } from '../database/runner.js';
import { type Installation, tablesOf } from '../database/tables.js';
import {
  type CountAnswer,
  endOf,
  type LoadAnswer,
  loadedOf,
  type DeletedAnswer,
  type PagePosition,
  type SweepAnswer,
  sweptOf,
} from './rows/answers.js';
import { nameIndex, NO_LOCK } from './rows/attempt-rows.js';
import {
  type Cursor,
  flags,
  type LoadedPage,
  numbers,
  PAUSED,
  type Shares,
  type SweptPage,
  texts,
} from './rows/delay-rows.js';
import { forgetAbortsSql } from './sql/attempts.sql.js';
import { forgetPermitsSql, forgetQuotasSql } from './sql/claim.sql.js';
import { loadSql, sweepSql } from './sql/fetch.sql.js';
import { pruneSql } from './sql/history.sql.js';
import {
  forgetNodesSql,
  forgetPausesSql,
  idleSql,
  leaveSql,
  unservedSql,
} from './sql/nodes.sql.js';

/** A node's reads of its share and its heartbeat, on the engine's own connections. */
export class NodeStore {
  readonly #sql;

  constructor(
    private readonly runner: Runner,
    of: string | Installation,
    readonly nodeName: string,
  ) {
    const tables = tablesOf(of);
    this.#sql = byPurpose({
      load: { usual: loadSql(tables), withGroups: loadSql(tables, true) },
      scan: { usual: sweepSql(tables), withGroups: sweepSql(tables, true) },
      idle: idleSql(tables),
      leave: leaveSql(tables),
      unserved: unservedSql(tables),
      prune: pruneSql(tables),
      forgetNodes: forgetNodesSql(tables),
      forgetPauses: forgetPausesSql(tables),
      forgetQuotas: forgetQuotasSql(tables),
      forgetPermits: forgetPermitsSql(tables),
      forgetAborts: forgetAbortsSql(tables),
    });
  }

  async load(
    shares: Shares,
    from: Cursor,
    limits: {
      horizonMs: number;
      limit: number;
      peersWithinMs: number;
      isPresent: boolean;
      instance: string;
    },
  ): Promise<LoadedPage> {
    const row = await this.#share<LoadAnswer>(this.#sql.load, shares, [
      this.nodeName,
      ...columnsOf(shares),
      from.wakeMs,
      from.id,
      limits.horizonMs,
      limits.limit,
      limits.peersWithinMs,
      limits.isPresent,
      nameIndex(shares.names),
      limits.instance,
    ]);
    return loadedOf(row);
  }

  /** Records that this node is idle. @returns for how many ms; null: there is something to do */
  async idle(
    { names, ranks, leftOut }: Shares,
    limits: { forMs: number; horizonMs: number },
  ): Promise<number | null> {
    const [row] = await this.runner.query<{ idle_ms: string }>(this.#sql.idle, [
      this.nodeName,
      texts(names.filter((_, index) => ranks[index] !== PAUSED)),
      texts(leftOut),
      limits.forMs,
      limits.horizonMs,
    ]);
    return row === undefined ? null : Number(row.idle_ms);
  }

  async sweep(
    shares: Shares,
    from: Cursor | null,
    limits: {
      scan: number;
      limit: number;
      helpAfterMs: number | null;
      aheadMs: number;
      /** The number of this process's lock. */
      processLock?: string;
    },
  ): Promise<SweptPage> {
    const row = await this.#share<SweepAnswer>(this.#sql.scan, shares, [
      ...columnsOf(shares),
      from?.wakeMs ?? null,
      from?.id ?? 0,
      limits.scan,
      limits.limit,
      limits.helpAfterMs,
      limits.aheadMs,
      nameIndex(shares.names),
      limits.processLock ?? NO_LOCK.number,
    ]);
    return sweptOf(row);
  }

  leave(): Promise<unknown> {
    return this.runner.query(this.#sql.leave, [this.nodeName]);
  }

  /** The names that no live node serves; `aliveMs` as in `liveNames`. */
  async unserved(names: readonly string[], aliveMs: number): Promise<string[]> {
    const rows = await this.runner.query<{ name: string }>(this.#sql.unserved, [
      texts(names),
      aliveMs,
    ]);
    return rows.map(({ name }) => name);
  }

  /** Deletes what is older than is kept, of a page of history; `read`: how much the page had. */
  async prune(
    { keepMs, names, areOthers, isAbandoned }: HistoryKeep,
    behind: PagePosition,
    limit: number,
  ): Promise<{ count: number; read: number; end: PagePosition }> {
    const parameters = [limit, ...behind, keepMs, texts(names), areOthers, isAbandoned];
    const page = await this.#one<DeletedAnswer>(this.#sql.prune, parameters);
    return { count: Number(page.count), read: Number(page.read), end: endOf(page) ?? behind };
  }

  /** Deletes nodes that were not seen for `staleMs`. @returns how many */
  async forgetNodes(staleMs: number, limit: number): Promise<number> {
    const answer = await this.#one<CountAnswer>(this.#sql.forgetNodes, [staleMs, limit]);
    return Number(answer.count);
  }

  /** Deletes pauses that ended `endedMs` ago. @returns how many */
  async forgetPauses(endedMs: number, limit: number): Promise<number> {
    const answer = await this.#one<CountAnswer>(this.#sql.forgetPauses, [endedMs, limit]);
    return Number(answer.count);
  }

  /** Deletes limits that no claim has met for `unmetMs`. @returns how many */
  async forgetQuotas(unmetMs: number, limit: number): Promise<number> {
    const answer = await this.#one<CountAnswer>(this.#sql.forgetQuotas, [unmetMs, limit]);
    return Number(answer.count);
  }

  /** Deletes permits that no claim holds any more. @returns how many */
  async forgetPermits(limit: number): Promise<number> {
    return Number((await this.#one<CountAnswer>(this.#sql.forgetPermits, [limit])).count);
  }

  /** Deletes abort requests that no node has taken for `untakenMs`. @returns how many */
  async forgetAborts(untakenMs: number, limit: number): Promise<number> {
    const answer = await this.#one<CountAnswer>(this.#sql.forgetAborts, [untakenMs, limit]);
    return Number(answer.count);
  }

  /** Usually there are no groups to consider; then the statement without groups runs. */
  #share<Row>(
    sql: { usual: string; withGroups: string },
    { byGroup, leftOut }: Shares,
    parameters: unknown[],
  ): Promise<Row> {
    if (leftOut.length === 0 && !byGroup.includes(true)) {
      return this.#one<Row>(sql.usual, parameters);
    }
    return this.#one<Row>(sql.withGroups, [...parameters, flags(byGroup), texts(leftOut)]);
  }

  async #one<Row>(sql: string, parameters: unknown[]): Promise<Row> {
    const [row] = await this.runner.query<Row>(sql, parameters);
    return given(row);
  }
}

const columnsOf = ({ names, counts, ranks }: Shares): string[] => [
  texts(names),
  numbers(counts),
  numbers(ranks),
];
