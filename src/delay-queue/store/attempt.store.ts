import { NO_MS } from './wire/arrays.js';
import {
  type ExhaustedAnswer,
  exhaustedOf,
  type ClaimAnswer,
  claimedOf,
  type FenceAnswer,
  fencedOf,
  type IdAnswer,
  idOf,
  type LookAnswer,
  lookedOf,
  type RetryAnswer,
  retriedOf,
} from './wire/answers.js';
import { flags, numbers, texts } from './wire/arrays.js';
import type {
  ExhaustedRow,
  ClaimedRow,
  ClaimRequest,
  Completion,
  FenceRow,
  LookedRow,
  RetriedRow,
  Retry,
} from './wire/attempt-rows.js';
import { given, type Runner } from './wire/runner.js';
import { tablesOf } from './tables/schema.js';
import { exhaustedSql } from './sql/attempts/exhausted.sql.js';
import { claimSql } from './sql/attempts/claim.sql.js';
import { completeSql } from './sql/attempts/complete.sql.js';
import { fenceSql } from './sql/attempts/fence.sql.js';
import { lookAtSql } from './sql/attempts/look-at.sql.js';
import { renewSql } from './sql/attempts/renew.sql.js';
import { retrySql } from './sql/attempts/retry.sql.js';

/** What becomes of rows that are claimed, on connections of the engine's own; one statement per method. */
export class AttemptStore {
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
      retry: retrySql(tables),
      deadLetter: exhaustedSql(tables),
      renew: renewSql(tables),
      fence: fenceSql(tables),
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

  async retry(items: readonly Retry[]): Promise<RetriedRow[]> {
    const rows = await this.runner.query<RetryAnswer>(this.#sql.retry, [
      ...fencesOf(items),
      numbers(items.map((item) => item.waitMs ?? NO_MS)),
      flags(items.map((item) => item.movesDue)),
      numbers(items.map((item) => item.refund)),
      flags(items.map((item) => item.error !== null)),
      texts(items.map((item) => item.error ?? '')),
      this.nodeName,
    ]);
    return rows.map(retriedOf);
  }

  async deadLetter(requests: readonly ClaimRequest[], error: string): Promise<ExhaustedRow[]> {
    const rows = await this.runner.query<ExhaustedAnswer>(this.#sql.deadLetter, [
      ...fencesOf(requests),
      numbers(requests.map((request) => request.maxAttempts)),
      error,
    ]);
    return rows.map(exhaustedOf);
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
