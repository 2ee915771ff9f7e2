import type { HistoryKept } from '../api/delay.js';
import { isClaimLost } from '../database/driver-errors.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Runner } from '../database/runner.js';
import { type Installation, tablesOf } from '../database/tables.js';
import {
  type AsText,
  type ClaimAnswer,
  claimedOf,
  type OnDeadAnswer,
  onDeadRowOf,
  type IdAnswer,
  idOf,
  type LookAnswer,
  lookedOf,
  type PassedAnswer,
  passedOf,
  type RecurAnswer,
  recurredOf,
  type RecurredRow,
  type Recurring,
  retriedOf,
  type RetryAnswer,
} from './rows/answers.js';
import {
  type ClaimedRow,
  type ClaimRequest,
  type Completion,
  type OnDeadRow,
  type LastClaim,
  type LookedRow,
  NO_LOCK,
  type PassedRow,
  type ProcessLock,
  type RetriedRow,
  type Retry,
  type Unread,
} from './rows/attempt-rows.js';
import { type Answer, reader, type RowOf } from './rows/columns.js';
import {
  type Fence,
  fencesOf,
  flags,
  NO_INSTANT,
  NO_MAXIMUM,
  NO_MS,
  numbers,
  texts,
} from './rows/delay-rows.js';
import {
  askAbortsSql,
  completeSql,
  EXHAUSTED,
  type ExhaustedRow,
  exhaustedSql,
  holdSql,
  lookAtSql,
  passOnSql,
  removeAllSql,
  removeOneSql,
  renewSql,
  retrySql,
  SET_ASIDE,
  setAsideSql,
  takeAbortsSql,
} from './sql/attempts.sql.js';
import { claimExhaustedSql, claimSql } from './sql/claim.sql.js';
import { NO_LINE, recurSql } from './sql/recurrences.sql.js';

const exhaustedOf = reader(EXHAUSTED);
const setAsideOf = reader(SET_ASIDE);

type FencedAnswer = AsText<'id' | 'epoch'>;
type AskedAnswer = FencedAnswer & AsText<'leased_by'>;

const fenceOf = ({ id, epoch }: FencedAnswer): Fence => ({ id: Number(id), epoch: Number(epoch) });

/** A claim whose attempt must abort; `isOwn`: this node holds it. */
interface AskedClaim extends Fence {
  isOwn: boolean;
}

/** Statements about claimed rows, on the engine's own connections; one statement per method. */
export class AttemptStore {
  readonly #sql;

  constructor(
    private readonly runner: Runner,
    of: string | Installation,
    private readonly kept: HistoryKept,
    readonly nodeName: string,
    private readonly lock: ProcessLock = NO_LOCK,
  ) {
    const tables = tablesOf(of);
    this.#sql = byPurpose({
      completeUnlogged: completeSql(tables, 'nothing'),
      retryUnlogged: retrySql(tables, 'ends'),
      recurUnlogged: recurSql(tables, 'nothing'),
      claim: claimSql(tables, kept),
      claimExhausted: claimExhaustedSql(tables, kept),
      lookAt: lookAtSql(tables),
      askAborts: askAbortsSql(tables),
      takeAborts: takeAbortsSql(tables),
      complete: completeSql(tables, kept),
      removeOne: removeOneSql(tables, kept),
      removeAll: removeAllSql(tables, kept),
      retry: retrySql(tables, kept),
      passOn: passOnSql(tables, kept),
      recur: recurSql(tables, kept),
      hold: holdSql(tables),
      deadLetter: exhaustedSql(tables),
      setAside: setAsideSql(tables),
      renew: renewSql(tables),
    });
  }

  async claim(requests: readonly ClaimRequest[]): Promise<ClaimedRow[]> {
    const rows = await this.runner.query<ClaimAnswer>(this.#sql.claim, this.#claiming(requests));
    return rows.map(claimedOf);
  }

  /**
   * Claims a row that will become a dead letter, without counting an attempt.
   * @param isHeld whether this node holds the lease; if not, the row is due with no attempt left
   */
  async claimExhausted(request: ClaimRequest, isHeld: boolean): Promise<OnDeadRow | undefined> {
    const parameters = [...this.#claiming([request]), isHeld];
    const [row] = await this.runner.query<OnDeadAnswer>(this.#sql.claimExhausted, parameters);
    return row && onDeadRowOf(row);
  }

  #claiming(requests: readonly ClaimRequest[]): string[] {
    return [
      ...fencesOf(requests),
      numbers(requests.map((request) => request.leaseMs)),
      numbers(requests.map((request) => request.maxAttempts)),
      this.nodeName,
      flags(requests.map((request) => request.fenced === true && this.lock.isHeld)),
      this.lock.number,
    ];
  }

  async lookAt(ids: readonly number[]): Promise<LookedRow[]> {
    const rows = await this.runner.query<LookAnswer>(this.#sql.lookAt, [numbers(ids)]);
    return rows.map(lookedOf);
  }

  /** Records, for the nodes that run them, which attempts must abort. @returns their claims */
  async askAborts(ids: readonly number[]): Promise<AskedClaim[]> {
    const rows = await this.runner.query<AskedAnswer>(this.#sql.askAborts, [
      numbers(ids),
      this.nodeName,
    ]);
    return rows.map((row) => ({ ...fenceOf(row), isOwn: row.leased_by === this.nodeName }));
  }

  /** Takes the abort requests for these claims; each request is returned once. */
  async takeAborts(claims: readonly Fence[]): Promise<Fence[]> {
    const rows = await this.runner.query<FencedAnswer>(this.#sql.takeAborts, fencesOf(claims));
    return rows.map(fenceOf);
  }

  /**
   * Removes completed delays. @returns the ids removed; the others are locked, or have another
   * epoch
   */
  async complete(
    items: readonly Completion[],
    runner: Pick<Runner, 'query'> = this.runner,
  ): Promise<number[]> {
    const ids = items.map((item) => item.id);
    const rows = await runner.query<IdAnswer>(this.#sql.complete, this.#completing(items));
    if (rows.length === 0) return ids;
    const left = new Set(rows.map(idOf));
    return ids.filter((id) => !left.has(id));
  }

  /**
   * The same as the last statement of their attempt's transaction, which fails unless every row goes.
   * @returns whether it did
   */
  remove(items: readonly Completion[], fenced: Runner): Promise<boolean> {
    const [one, ...others] = items as readonly [Completion, ...Completion[]];
    const isOne = others.length === 0;
    const fence = isOne ? [String(one.id), String(one.epoch)] : fencesOf(items);
    const lateness = isOne ? String(one.latenessMs) : numbers(items.map((item) => item.latenessMs));
    const how: Parameters<Runner['query']> = [
      isOne ? this.#sql.removeOne : this.#sql.removeAll,
      this.kept === 'nothing' ? fence : [...fence, lateness],
    ];
    return (fenced.queryLast?.(...how) ?? fenced.query(...how)).then(
      () => true,
      (error: unknown) => {
        if (isClaimLost(error)) return false;
        throw error;
      },
    );
  }

  /** In the transaction of these attempts: locks what is still theirs, before it is removed or moves on. */
  async hold(claims: readonly Fence[], fenced: Runner): Promise<void> {
    await fenced.query(this.#sql.hold, fencesOf(claims));
  }

  /** The same without a history row, for delays whose history row was refused. */
  async completeUnlogged(items: readonly Completion[]): Promise<number[]> {
    const rows = await this.runner.query<IdAnswer>(
      this.#sql.completeUnlogged,
      this.#completing(items),
    );
    const missing = new Set(rows.map(idOf));
    return items.map(({ id }) => id).filter((id) => !missing.has(id));
  }

  #completing(items: readonly Completion[]): unknown[] {
    return [...fencesOf(items), numbers(items.map((item) => item.latenessMs))];
  }

  /**
   * @param reduced 1 omits the error texts and the entries in the attempt log, after a refused write
   */
  async retry(
    items: readonly Retry[],
    runner: Runner = this.runner,
    reduced = 0,
  ): Promise<RetriedRow[]> {
    const isUnlogged = reduced > 0;
    const sql = isUnlogged ? this.#sql.retryUnlogged : this.#sql.retry;
    const rows = await runner.query<RetryAnswer>(sql, [
      ...fencesOf(items),
      numbers(items.map((item) => item.waitMs ?? NO_MS)),
      flags(items.map((item) => item.movesDue)),
      numbers(items.map((item) => item.refund)),
      flags(items.map((item) => item.error !== null && !isUnlogged)),
      texts(items.map((item) => item.error ?? '')),
      this.nodeName,
      ...(this.kept === 'attempts' && !isUnlogged ? [texts(items.map((item) => item.ends))] : []),
    ]);
    return rows.map(retriedOf);
  }

  /** Passes delays that this node cannot read on to other nodes; `aliveMs` as in `liveNames`. */
  async passOn(items: readonly Unread[], aliveMs: number): Promise<PassedRow[]> {
    const rows = await this.runner.query<PassedAnswer>(this.#sql.passOn, [
      ...fencesOf(items),
      numbers(items.map((item) => item.waitMs ?? NO_MS)),
      this.nodeName,
      aliveMs,
    ]);
    return rows.map(passedOf);
  }

  /**
   * Moves recurring delays on to their next occurrence. @returns the delays that moved
   * @param reduced 1 omits the history rows, for delays whose history row was refused
   */
  async recur(
    items: readonly Recurring[],
    runner: Runner = this.runner,
    reduced = 0,
  ): Promise<RecurredRow[]> {
    const sql = reduced > 0 ? this.#sql.recurUnlogged : this.#sql.recur;
    const rows = await runner.query<RecurAnswer>(sql, [
      ...fencesOf(items),
      texts(items.map((item) => new Date(item.dueMs).toISOString())),
      texts(
        items.map(({ nextMs }) =>
          nextMs === undefined ? NO_INSTANT : new Date(nextMs).toISOString(),
        ),
      ),
      texts(items.map((item) => item.state ?? NO_LINE)),
      numbers(items.map((item) => item.latenessMs ?? NO_MS)),
      texts(items.map((item) => item.error ?? '')),
      numbers(items.map((item) => item.maxAttempts ?? NO_MAXIMUM)),
      this.nodeName,
      numbers(items.map(({ skipped }) => skipped?.count ?? 0)),
      texts(items.map(({ skipped, dueMs }) => new Date(skipped?.fromMs ?? dueMs).toISOString())),
      texts(items.map(({ more }) => JSON.stringify(more))),
    ]);
    return rows.map(recurredOf);
  }

  async deadLetter(requests: readonly LastClaim[], error: string): Promise<ExhaustedRow[]> {
    const rows = await this.runner.query<Answer>(this.#sql.deadLetter, [
      ...fencesOf(requests),
      numbers(requests.map((request) => request.maxAttempts)),
      error,
    ]);
    return rows.map(exhaustedOf);
  }

  /** Makes dead letters of unreadable rows: of these ids, and of ids too large for JavaScript. */
  async setAside(ids: readonly number[]): Promise<RowOf<typeof SET_ASIDE>[]> {
    return (await this.runner.query<Answer>(this.#sql.setAside, [numbers(ids)])).map(setAsideOf);
  }

  /** Renews leases. @returns the ids whose lease now ends in `leaseMs` */
  async renew(items: readonly Fence[], leaseMs: number): Promise<number[]> {
    const parameters = [...fencesOf(items), leaseMs];
    return (await this.runner.query<IdAnswer>(this.#sql.renew, parameters)).map(idOf);
  }
}
