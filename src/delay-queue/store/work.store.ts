import { DelayConfigError } from '../delay/delay.errors.js';
import { NO_MS } from './wire/arrays.js';
import {
  type BuryAnswer,
  buriedOf,
  type ClaimAnswer,
  claimedOf,
  type CountAnswer,
  type FenceAnswer,
  fencedOf,
  type IdAnswer,
  idOf,
  type LoadAnswer,
  loadedOf,
  type LookAnswer,
  lookedOf,
  type SettleAnswer,
  settledOf,
  type SweepAnswer,
  sweptOf,
} from './wire/answers.js';
import { flags, numbers, texts } from './wire/arrays.js';
import { nameIndex } from './wire/ownership.js';
import type {
  BuriedRow,
  ClaimedRow,
  ClaimRequest,
  Completion,
  FenceRow,
  LookedRow,
  SettledRow,
  Settlement,
} from './wire/attempt-rows.js';
import type { Cursor, LoadedPage, Shares, SweptPage } from './wire/wakes.js';
import type { Runner } from './wire/runner.js';
import { tablesOf } from './tables/schema.js';
import { burySql } from './sql/attempts/exhausted.sql.js';
import { claimSql } from './sql/attempts/claim.sql.js';
import { completeSql } from './sql/attempts/complete.sql.js';
import { fenceSql } from './sql/attempts/fence.sql.js';
import { forgetNodesSql } from './sql/nodes/forget-nodes.sql.js';
import { leaveSql } from './sql/nodes/leave.sql.js';
import { loadSql } from './sql/nodes/load.sql.js';
import { lookAtSql } from './sql/attempts/look-at.sql.js';
import { pruneSql } from './sql/nodes/prune.sql.js';
import { renewSql } from './sql/attempts/renew.sql.js';
import { settleSql } from './sql/attempts/retry.sql.js';
import { sweepSql } from './sql/nodes/sweep.sql.js';

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

  async claim(requests: readonly ClaimRequest[]): Promise<ClaimedRow[]> {
    const rows = await this.runner.query<ClaimAnswer>(this.#sql.claim, [
      ...fencesOf(requests),
      numbers(requests.map((request) => request.leaseMs)),
      numbers(requests.map((request) => request.maxAttempts)),
      this.nodeName,
    ]);
    return rows.map(claimedOf);
  }

  async lookAt(ids: readonly number[]): Promise<LookedRow[]> {
    const rows = await this.runner.query<LookAnswer>(this.#sql.lookAt, [numbers(ids)]);
    return rows.map(lookedOf);
  }

  /** Ids that were removed; the others are locked, or no longer this attempt's. */
  async complete(items: readonly Completion[], runner: Runner = this.runner): Promise<number[]> {
    const rows = await runner.query<IdAnswer>(this.#sql.complete, [
      ...fencesOf(items),
      numbers(items.map((item) => item.latenessMs)),
    ]);
    const ids = items.map((item) => item.id);
    if (rows.length === 0) return ids;
    const left = new Set(rows.map(idOf));
    return ids.filter((id) => !left.has(id));
  }

  async settle(items: readonly Settlement[]): Promise<SettledRow[]> {
    const rows = await this.runner.query<SettleAnswer>(this.#sql.settle, [
      ...fencesOf(items),
      numbers(items.map((item) => item.waitMs ?? NO_MS)),
      flags(items.map((item) => item.movesDue)),
      numbers(items.map((item) => item.refund)),
      flags(items.map((item) => item.error !== null)),
      texts(items.map((item) => item.error ?? '')),
      this.nodeName,
    ]);
    return rows.map(settledOf);
  }

  async bury(requests: readonly ClaimRequest[], error: string): Promise<BuriedRow[]> {
    const rows = await this.runner.query<BuryAnswer>(this.#sql.bury, [
      ...fencesOf(requests),
      numbers(requests.map((request) => request.maxAttempts)),
      error,
    ]);
    return rows.map(buriedOf);
  }

  /** Ids whose lease now ends in `leaseMs`. */
  async renew(items: readonly Fence[], leaseMs: number): Promise<number[]> {
    const parameters = [...fencesOf(items), leaseMs];
    return (await this.runner.query<IdAnswer>(this.#sql.renew, parameters)).map(idOf);
  }

  /** Holds the rows in the transaction of their attempts; `ids` are those whose claim still holds. */
  async fence(runner: Runner, claims: readonly Fence[], idleMs: number): Promise<FenceRow> {
    const [row] = await runner.query<FenceAnswer>(this.#sql.fence, [
      ...fencesOf(claims),
      String(Math.max(1, Math.floor(idleMs))),
    ]);
    return fencedOf(given(row));
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
    const row = await this.#one<LoadAnswer>(this.#sql.load, [
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

  async sweep(
    shares: Shares,
    from: Cursor | null,
    limits: { scan: number; limit: number; helpAfterMs: number | null; aheadMs: number },
  ): Promise<SweptPage> {
    const row = await this.#one<SweepAnswer>(this.#sql.sweep, [
      ...columnsOf(shares),
      from?.wakeMs ?? null,
      from?.id ?? 0,
      limits.scan,
      limits.limit,
      limits.helpAfterMs,
      limits.aheadMs,
      nameIndex(shares.names),
    ]);
    return sweptOf(row);
  }

  leave(): Promise<unknown> {
    return this.runner.query(this.#sql.leave, [this.nodeName]);
  }

  async prune(keepMs: number, limit: number): Promise<number> {
    return Number((await this.#one<CountAnswer>(this.#sql.prune, [keepMs, limit])).count);
  }

  /** @returns how many rows of nodes not seen for so long it deleted */
  async forgetNodes(staleMs: number, limit: number): Promise<number> {
    const answer = await this.#one<CountAnswer>(this.#sql.forgetNodes, [staleMs, limit]);
    return Number(answer.count);
  }

  async #one<Row>(sql: string, parameters: unknown[]): Promise<Row> {
    const [row] = await this.runner.query<Row>(sql, parameters);
    return given(row);
  }
}

/** A claim that a statement asks for or proves. */
interface Fence {
  id: number;
  epoch: number;
}

const fencesOf = (items: readonly Fence[]): [ids: string, epochs: string] => [
  numbers(items.map((item) => item.id)),
  numbers(items.map((item) => item.epoch)),
];

const columnsOf = ({ names, counts, ranks }: Shares): string[] => [
  texts(names),
  numbers(counts),
  numbers(ranks),
];

function given<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new DelayConfigError('a statement of the engine gave no answer');
  return row;
}
