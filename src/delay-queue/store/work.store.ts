import { DelayConfigError } from '../delay.errors.js';
import { numbers } from './array-literal.js';
import { nameIndex } from './name-index.js';
import type {
  ClaimedRow,
  ClaimRequest,
  Completion,
  Cursor,
  FenceRow,
  LoadedPage,
  LookedRow,
  Runner,
  SettledRow,
  Settlement,
  Shares,
  SweptPage,
  Wake,
} from './rows.js';
import { tablesOf } from './schema.js';
import { burySql } from './sql/bury.sql.js';
import { claimSql } from './sql/claim.sql.js';
import { completeSql } from './sql/complete.sql.js';
import { fenceSql } from './sql/fence.sql.js';
import { forgetNodesSql } from './sql/forget-nodes.sql.js';
import { leaveSql } from './sql/leave.sql.js';
import { loadSql } from './sql/load.sql.js';
import { lookAtSql } from './sql/look-at.sql.js';
import { pruneSql } from './sql/prune.sql.js';
import { renewSql } from './sql/renew.sql.js';
import { settleSql } from './sql/settle.sql.js';
import { sweepSql } from './sql/sweep.sql.js';

type WakeTuple = [id: number, epoch: number, name: string, wakeMs: number, ended: 0 | 1 | 2];

/** What the engine reads and writes, on connections of its own; one statement per method. */
export class WorkStore {
  readonly #sql;

  constructor(
    private readonly runner: Runner,
    schema: string,
    withHistory: boolean,
    readonly nodeName: string,
  ) {
    const tables = tablesOf(schema);
    this.#sql = {
      claim: claimSql(tables),
      lookAt: lookAtSql(tables),
      complete: completeSql(tables, withHistory),
      settle: settleSql(tables),
      bury: burySql(tables),
      renew: renewSql(tables),
      fence: fenceSql(tables),
      load: loadSql(tables),
      sweep: sweepSql(tables),
      leave: leaveSql(tables),
      prune: pruneSql(tables),
      forgetNodes: forgetNodesSql(tables),
    };
  }

  claim(requests: readonly ClaimRequest[]): Promise<ClaimedRow[]> {
    return this.runner.query(this.#sql.claim, [
      numbers(requests.map((request) => request.id)),
      numbers(requests.map((request) => request.epoch)),
      numbers(requests.map((request) => request.leaseMs)),
      numbers(requests.map((request) => request.maxAttempts)),
      this.nodeName,
    ]);
  }

  lookAt(ids: readonly number[]): Promise<LookedRow[]> {
    return this.runner.query(this.#sql.lookAt, [ids]);
  }

  /** Ids that were removed; the others are locked, or no longer this attempt's. */
  async complete(items: readonly Completion[], runner: Runner = this.runner): Promise<number[]> {
    const rows = await runner.query<{ id: number }>(this.#sql.complete, [
      numbers(items.map((item) => item.id)),
      numbers(items.map((item) => item.epoch)),
      numbers(items.map((item) => item.latenessMs)),
    ]);
    const ids = items.map((item) => item.id);
    if (rows.length === 0) return ids;
    const left = new Set(rows.map((row) => row.id));
    return ids.filter((id) => !left.has(id));
  }

  settle(items: readonly Settlement[]): Promise<SettledRow[]> {
    return this.runner.query(this.#sql.settle, [
      items.map((item) => item.id),
      items.map((item) => item.epoch),
      items.map((item) => item.waitMs),
      items.map((item) => item.movesDue),
      items.map((item) => item.refund),
      items.map((item) => item.error),
      this.nodeName,
    ]);
  }

  bury(
    requests: readonly ClaimRequest[],
    error: string,
  ): Promise<{ id: number; name: string; key: string | null; attempts: number; error: string }[]> {
    return this.runner.query(this.#sql.bury, [
      requests.map((request) => request.id),
      requests.map((request) => request.epoch),
      requests.map((request) => request.maxAttempts),
      error,
    ]);
  }

  /** Ids whose lease now ends in `leaseMs`. */
  async renew(items: readonly { id: number; epoch: number }[], leaseMs: number): Promise<number[]> {
    const rows = await this.runner.query<{ id: number }>(this.#sql.renew, [
      items.map((item) => item.id),
      items.map((item) => item.epoch),
      leaseMs,
    ]);
    return rows.map((row) => row.id);
  }

  /** Holds the rows in the transaction of their attempts; `ids` are those whose claim still holds. */
  async fence(
    runner: Runner,
    claims: readonly { id: number; epoch: number }[],
    idleMs: number,
  ): Promise<FenceRow> {
    const [row] = await runner.query<FenceRow>(this.#sql.fence, [
      claims.map((claim) => claim.id),
      claims.map((claim) => claim.epoch),
      String(Math.max(1, Math.floor(idleMs))),
    ]);
    return given(row);
  }

  async load(
    shares: Shares,
    from: Cursor,
    limits: { horizonMs: number; limit: number; peersWithinMs: number; isPresent: boolean },
  ): Promise<LoadedPage> {
    const row = await this.#one<PageRow & { nodes: string; later_ms: number }>(this.#sql.load, [
      this.nodeName,
      shares.names,
      shares.counts,
      shares.ranks,
      from.wakeMs,
      from.id,
      limits.horizonMs,
      limits.limit,
      limits.peersWithinMs,
      limits.isPresent,
      nameIndex(shares.names),
    ]);
    const nodes = JSON.parse(row.nodes) as LoadedPage['nodes'];
    return { nodes, laterMs: row.later_ms, ...pageOf(row) };
  }

  async sweep(
    shares: Shares,
    from: Cursor | null,
    limits: { scan: number; limit: number; helpAfterMs: number | null; aheadMs: number },
  ): Promise<SweptPage> {
    const row = await this.#one<PageRow & { any_overdue: boolean }>(this.#sql.sweep, [
      shares.names,
      shares.counts,
      shares.ranks,
      from?.wakeMs ?? null,
      from?.id ?? 0,
      limits.scan,
      limits.limit,
      limits.helpAfterMs,
      limits.aheadMs,
      nameIndex(shares.names),
    ]);
    return { anyOverdue: row.any_overdue, ...pageOf(row) };
  }

  leave(): Promise<unknown> {
    return this.runner.query(this.#sql.leave, [this.nodeName]);
  }

  async prune(keepMs: number, limit: number): Promise<number> {
    return (await this.#one<{ count: number }>(this.#sql.prune, [keepMs, limit])).count;
  }

  /** @returns how many rows of nodes not seen for so long it deleted */
  async forgetNodes(staleMs: number, limit: number): Promise<number> {
    return Number(
      (await this.#one<{ count: string }>(this.#sql.forgetNodes, [staleMs, limit])).count,
    );
  }

  async #one<Row>(sql: string, parameters: unknown[]): Promise<Row> {
    const [row] = await this.runner.query<Row>(sql, parameters);
    return given(row);
  }
}

function given<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new DelayConfigError('a statement of the engine gave no answer');
  return row;
}

interface PageRow {
  wakes: string;
  cursor_ms: number | null;
  cursor_id: number;
  now_ms: number;
}

function pageOf(row: PageRow): { wakes: Wake[]; cursor: Cursor | null; nowMs: number } {
  const tuples = JSON.parse(row.wakes) as WakeTuple[];
  return {
    wakes: tuples.map(([id, epoch, name, wakeMs, ended]) => ({
      id,
      epoch,
      name,
      wakeMs,
      suspect: ended === 2,
      failed: ended > 0,
    })),
    cursor: row.cursor_ms === null ? null : { wakeMs: row.cursor_ms, id: row.cursor_id },
    nowMs: row.now_ms,
  };
}
