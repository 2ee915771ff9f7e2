import type { HistoryKept } from '../config/options.js';
import { isClaimLost } from '../database/driver-errors.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Runner } from '../database/runner.js';
import { type Installation, qualifiedTables } from '../database/tables.js';
import { type IdAnswer, readClaimed, readId, readOnDead, readRows } from './rows/answers.js';
import {
  claimColumns,
  type ClaimRequest,
  type Completion,
  type EndedOccurrence,
  type LastClaim,
  NO_LOCK,
  type ProcessLock,
  type Retry,
  type Unread,
} from './rows/attempt-rows.js';
import { reader } from './rows/columns.js';
import {
  type Fence,
  fenceColumns,
  flags,
  NO_INSTANT,
  NO_MAXIMUM,
  NO_MS,
  numbers,
  texts,
} from './rows/delay-rows.js';
import {
  ASKED,
  askAbortsSql,
  CLAIM,
  completeSql,
  EXHAUSTED,
  exhaustedSql,
  holdSql,
  LOOKED,
  lookAtSql,
  PASSED,
  passOnSql,
  removeAllSql,
  removeOneSql,
  renewSql,
  RETRIED,
  retrySql,
  SET_ASIDE,
  setAsideSql,
  takeAbortsSql,
} from './sql/attempts.sql.js';
import { claimExhaustedSql, claimSql } from './sql/claim.sql.js';
import { NO_LINE, RECURRED, recurSql } from './sql/recurrences.sql.js';

const readExhausted = reader(EXHAUSTED);
const readSetAside = reader(SET_ASIDE);
const readLooked = reader(LOOKED);
const readAsked = reader(ASKED);
const readClaim = reader(CLAIM);
const readRetried = reader(RETRIED);
const readPassed = reader(PASSED);
const readRecurred = reader(RECURRED);

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
    const tables = qualifiedTables(of);
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

  claim(requests: readonly ClaimRequest[]) {
    return readRows(this.runner, this.#sql.claim, this.#claiming(requests), readClaimed);
  }

  /**
   * Claims a row that will become a dead letter, without counting an attempt.
   * @param isHeld whether this node holds the lease; if not, the row is due with no attempt left
   */
  async claimExhausted(request: ClaimRequest, isHeld: boolean) {
    const parameters = [...this.#claiming([request]), isHeld];
    const sql = this.#sql.claimExhausted;
    return (await readRows(this.runner, sql, parameters, readOnDead))[0];
  }

  #claiming(requests: readonly ClaimRequest[]): string[] {
    return claimColumns(requests, this.nodeName, this.lock);
  }

  lookAt(ids: readonly number[]) {
    return readRows(this.runner, this.#sql.lookAt, [numbers(ids)], readLooked);
  }

  /** Records, for the nodes that run them, which attempts must abort. @returns their claims */
  askAborts(ids: readonly number[]) {
    const parameters = [numbers(ids), this.nodeName];
    return readRows(this.runner, this.#sql.askAborts, parameters, readAsked);
  }

  /** Takes the abort requests for these claims; each request is returned once. */
  takeAborts(claims: readonly Fence[]): Promise<Fence[]> {
    return readRows(this.runner, this.#sql.takeAborts, fenceColumns(claims), readClaim);
  }

  /**
   * Removes completed delays. @returns the ids removed; the others are locked, or have another
   * epoch
   * @param reduced 1 omits the history rows, for delays whose history row was refused
   */
  async complete(
    items: readonly Completion[],
    runner: Pick<Runner, 'query'> = this.runner,
    reduced = 0,
  ): Promise<number[]> {
    const ids = items.map((item) => item.id);
    const sql = reduced > 0 ? this.#sql.completeUnlogged : this.#sql.complete;
    const rows = await runner.query<IdAnswer>(sql, [
      ...fenceColumns(items),
      numbers(items.map((item) => item.latenessMs)),
    ]);
    if (rows.length === 0) return ids;
    const left = new Set(rows.map(readId));
    return ids.filter((id) => !left.has(id));
  }

  /**
   * The same as the last statement of their attempt's transaction, which fails unless every row goes.
   * @returns whether it did
   */
  remove(items: readonly Completion[], fenced: Runner): Promise<boolean> {
    const [one, ...others] = items as readonly [Completion, ...Completion[]];
    const isOne = others.length === 0;
    const fence = isOne ? [String(one.id), String(one.epoch)] : fenceColumns(items);
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
    await fenced.query(this.#sql.hold, fenceColumns(claims));
  }

  /**
   * @param reduced 1 omits the error texts and the entries in the attempt log, after a refused write
   */
  retry(items: readonly Retry[], runner: Runner = this.runner, reduced = 0) {
    const isUnlogged = reduced > 0;
    const sql = isUnlogged ? this.#sql.retryUnlogged : this.#sql.retry;
    const parameters = [
      ...fenceColumns(items),
      numbers(items.map((item) => item.waitMs ?? NO_MS)),
      flags(items.map((item) => item.movesDue)),
      numbers(items.map((item) => item.refund)),
      flags(items.map((item) => item.error !== null && !isUnlogged)),
      texts(items.map((item) => item.error ?? '')),
      this.nodeName,
      ...(this.kept === 'attempts' && !isUnlogged ? [texts(items.map((item) => item.ends))] : []),
    ];
    return readRows(runner, sql, parameters, readRetried);
  }

  /** Passes delays that this node cannot read on to other nodes; `aliveMs` as in `liveNames`. */
  passOn(items: readonly Unread[], aliveMs: number) {
    const parameters = [
      ...fenceColumns(items),
      numbers(items.map((item) => item.waitMs ?? NO_MS)),
      this.nodeName,
      aliveMs,
    ];
    return readRows(this.runner, this.#sql.passOn, parameters, readPassed);
  }

  /**
   * Moves recurring delays on to their next occurrence. @returns the delays that moved
   * @param reduced 1 omits the history rows, for delays whose history row was refused
   */
  recur(items: readonly EndedOccurrence[], runner: Runner = this.runner, reduced = 0) {
    const sql = reduced > 0 ? this.#sql.recurUnlogged : this.#sql.recur;
    const parameters = [
      ...fenceColumns(items),
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
    ];
    return readRows(runner, sql, parameters, readRecurred);
  }

  deadLetter(requests: readonly LastClaim[], error: string) {
    const maxAttempts = numbers(requests.map((request) => request.maxAttempts));
    const parameters = [...fenceColumns(requests), maxAttempts, error];
    return readRows(this.runner, this.#sql.deadLetter, parameters, readExhausted);
  }

  /** Makes dead letters of unreadable rows: of these ids, and of ids too large for JavaScript. */
  setAside(ids: readonly number[]) {
    return readRows(this.runner, this.#sql.setAside, [numbers(ids)], readSetAside);
  }

  /** Renews leases. @returns the ids whose lease now ends in `leaseMs` */
  renew(items: readonly Fence[], leaseMs: number): Promise<number[]> {
    const parameters = [...fenceColumns(items), leaseMs];
    return readRows(this.runner, this.#sql.renew, parameters, readId);
  }
}
