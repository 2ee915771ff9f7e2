import type { HistoryKeep } from '../config/options.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Runner } from '../database/runner.js';
import { type Installation, qualifiedTables } from '../database/tables.js';
import {
  endPosition,
  type AsText,
  type DeletedAnswer,
  type PagePosition,
  readCount,
  readLoaded,
  readRow,
  readRows,
  readSwept,
} from './rows/answers.js';
import { nameIndex, NO_LOCK } from './rows/attempt-rows.js';
import {
  type WakeCursor,
  flags,
  type LoadedPage,
  numbers,
  PAUSED,
  type Shares,
  type SweptPage,
  texts,
} from './rows/delay-rows.js';
import { forgetPermitsSql } from './sql/claim.sql.js';
import { loadSql, sweepSql } from './sql/fetch.sql.js';
import { pruneSql } from './sql/history.sql.js';
import { type ForgottenTable, forgetSql, idleSql, leaveSql, unservedSql } from './sql/nodes.sql.js';

/** A node's reads of its share and its heartbeat, on the engine's own connections. */
export class NodeStore {
  readonly #sql;

  constructor(
    private readonly runner: Runner,
    of: string | Installation,
    readonly nodeName: string,
  ) {
    const tables = qualifiedTables(of);
    this.#sql = byPurpose({
      load: (withGroups: boolean) => loadSql(tables, withGroups),
      scan: (withGroups: boolean) => sweepSql(tables, withGroups),
      idle: idleSql(tables),
      leave: leaveSql(tables),
      unserved: unservedSql(tables),
      prune: pruneSql(tables),
      forget: (place: ForgottenTable) => forgetSql(tables, place),
      forgetPermits: forgetPermitsSql(tables),
    });
  }

  load(
    shares: Shares,
    from: WakeCursor,
    limits: {
      horizonMs: number;
      limit: number;
      peersWithinMs: number;
      isPresent: boolean;
      instance: string;
    },
  ): Promise<LoadedPage> {
    const parameters = [
      this.nodeName,
      ...shareColumns(shares),
      from.wakeMs,
      from.id,
      limits.horizonMs,
      limits.limit,
      limits.peersWithinMs,
      limits.isPresent,
      nameIndex(shares.names),
      limits.instance,
    ];
    return this.#share(this.#sql.load, shares, parameters, readLoaded);
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

  sweep(
    shares: Shares,
    from: WakeCursor | null,
    limits: {
      scan: number;
      limit: number;
      helpAfterMs: number | null;
      aheadMs: number;
      /** The number of this process's lock. */
      processLock?: string;
    },
  ): Promise<SweptPage> {
    const parameters = [
      ...shareColumns(shares),
      from?.wakeMs ?? null,
      from?.id ?? 0,
      limits.scan,
      limits.limit,
      limits.helpAfterMs,
      limits.aheadMs,
      nameIndex(shares.names),
      limits.processLock ?? NO_LOCK.number,
    ];
    return this.#share(this.#sql.scan, shares, parameters, readSwept);
  }

  leave(): Promise<unknown> {
    return this.runner.query(this.#sql.leave, [this.nodeName]);
  }

  /** The names that no live node serves; `aliveMs` as in `liveNames`. */
  unserved(names: readonly string[], aliveMs: number): Promise<string[]> {
    const parameters = [texts(names), aliveMs];
    return readRows(
      this.runner,
      this.#sql.unserved,
      parameters,
      ({ name }: AsText<'name'>) => name,
    );
  }

  /** Deletes what is older than is kept, of a page of history; `read`: how much the page had. */
  prune(
    { keepMs, names, areOthers, isAbandoned }: HistoryKeep,
    behind: PagePosition,
    limit: number,
  ): Promise<{ count: number; read: number; end: PagePosition }> {
    const parameters = [limit, ...behind, keepMs, texts(names), areOthers, isAbandoned];
    return readRow(this.runner, this.#sql.prune, parameters, (page: DeletedAnswer) => ({
      count: readCount(page),
      read: Number(page.read),
      end: endPosition(page) ?? behind,
    }));
  }

  /** Deletes the oldest rows of that table. @returns how many */
  forget(place: ForgottenTable, ageMs: number, limit: number): Promise<number> {
    return readRow(this.runner, this.#sql.forget(place), [ageMs, limit], readCount);
  }

  /** Deletes permits that no claim holds any more. @returns how many */
  forgetPermits(limit: number): Promise<number> {
    return readRow(this.runner, this.#sql.forgetPermits, [limit], readCount);
  }

  /** Usually there are no groups to consider; then the statement without groups runs. */
  #share<Page>(
    sql: (withGroups: boolean) => string,
    { byGroup, leftOut }: Shares,
    parameters: unknown[],
    read: (answer: never) => Page,
  ): Promise<Page> {
    const withGroups = leftOut.length > 0 || byGroup.includes(true);
    const groups = withGroups ? [flags(byGroup), texts(leftOut)] : [];
    return readRow(this.runner, sql(withGroups), [...parameters, ...groups], read);
  }
}

const shareColumns = ({ names, counts, ranks }: Shares): string[] => [
  texts(names),
  numbers(counts),
  numbers(ranks),
];
