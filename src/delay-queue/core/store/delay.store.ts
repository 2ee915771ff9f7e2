import { DelayError } from '../api/errors.js';
import type { HistoryKept } from '../config/options.js';
import type { MoveTo } from '../config/durations.js';
import { readSqlState, UNIQUE_VIOLATION } from '../database/driver-errors.js';
import { byPurpose } from '../database/prepared-statements.js';
import { given, type Runner } from '../database/runner.js';
import { type Installation, qualifiedTables } from '../database/tables.js';
import { RerunStore } from './rerun.store.js';
import { readNowMs, readRow } from './rows/answers.js';
import { EXTRA_NAMES } from './rows/columns.js';
import {
  keyText,
  type Move,
  type NameAndKey,
  type NewDelay,
  numbers,
  type OwnAttempt,
  type Placed,
} from './rows/delay-rows.js';
import { chooseLockWait, orHeld, untilStable } from './held-rows.js';
import { cancelSql, cancelWaitingSql, moveOnSql, rescheduleSql } from './sql/delays.sql.js';
import { HELD_MAX_MS, type LockWait } from './sql/fragments/clock.js';
import { Targets } from './sql/fragments/target-rows.js';
import { nowSql } from './sql/recurrences.sql.js';
import {
  type WrittenColumns,
  type Extent,
  type Says,
  scheduleAllNewSql,
  scheduleKeylessSql,
  scheduleNewSql,
  scheduleTakenSql,
  scheduleUndoSql,
} from './sql/schedule.sql.js';
import { cancelOneSql, scheduleOneSql } from './tables/functions.js';
import {
  byParameter,
  cancelledOne,
  moveTarget,
  insert,
  insertAll,
  moveColumns,
  type OneRow,
  readPlaced,
  type PlacedRow,
  takenKeyError,
  whatTheySay,
  scheduledOne,
  takenColumns,
  targetColumns,
} from './write-answers.js';

/** Receives the result of the item at that index. */
export type BatchAnswer = (index: number, placed: Placed) => void;

/** Looks at rows; undefined where it has to look again. */
type LookAtRows = (wait: LockWait) => Promise<(Placed | undefined)[]>;

/**
 * One look at one row. In a transaction it does not wait: behind a claim it would lock a row that
 * is now leased, and keep that lock until the end: the attempt could neither renew its lease nor
 * write its outcome. A rollback to a savepoint would undo what other branches of the caller have
 * written meanwhile.
 */
async function lookOnce(runner: Runner, look: LookAtRows): Promise<Placed | undefined> {
  return (await look(runner.transaction === undefined ? 'a while' : 'at once'))[0];
}

/** A change of an attempt's own row; null leaves a column as it is. */
export interface OwnChange<Verdict extends string> {
  verdict: Verdict;
  payload: string | null;
  maxAttempts: number | null;
  /** As of `extrasText`. */
  extras: string | null;
}

/**
 * The writes of producers, each in the caller's transaction or in its own. A look is repeated with
 * a new statement until the answer is stable: a cancel that waited behind "cancel and schedule
 * again" must not answer `absent` while a new row lives.
 *
 * The verbs `…Together` write the calls of many callers in one statement, its own transaction. No
 * call waits there for another call's row: one that would have to, or to look again, gets no
 * answer, and is then written alone.
 */
export class DelayStore {
  readonly #sql;
  readonly #reruns: RerunStore;

  constructor(
    of: string | Installation,
    private readonly kept: HistoryKept,
    readonly nodeName: string,
    private readonly heldMaxMs = HELD_MAX_MS,
  ) {
    const tables = qualifiedTables(of);
    this.#reruns = new RerunStore(of, kept);
    this.#sql = byPurpose({
      scheduleOne: scheduleOneSql(tables),
      schedule: (wait: LockWait, columns: WrittenColumns) => scheduleNewSql(tables, wait, columns),
      scheduleAll: (columns: WrittenColumns) => scheduleAllNewSql(tables, columns),
      scheduleKeyless: (columns: WrittenColumns) => scheduleKeylessSql(tables, columns),
      scheduleAgain: (wait: LockWait, extent: Extent, says: Says) =>
        scheduleTakenSql(tables, kept, wait, extent, says),
      scheduleUndo: scheduleUndoSql(tables),
      rescheduleOwn: (wait: LockWait) => moveOnSql(tables, kept, wait),
      cancelWaiting: cancelWaitingSql(tables, kept),
      cancelOne: cancelOneSql(tables),
      cancel: (wait: LockWait, by?: string) => cancelSql(tables, kept, wait, Targets.CALLS, by),
      reschedule: (wait: LockWait, by?: string) => rescheduleSql(tables, wait, Targets.CALLS, by),
      now: nowSql(tables),
    });
  }

  /**
   * Writes all delays, or none and throws.
   * @param newDelays sorted by (name, key), without duplicate keys, so that two callers lock in the
   * same order
   * @throws DelayConflictError for `onConflict: 'error'`; DelayInvalidError for a key that code
   * declares; DelayUnstableError
   */
  async place(runner: Runner, newDelays: readonly NewDelay[]): Promise<Placed[]> {
    const [only] = newDelays;
    return orHeld(runner, this.heldMaxMs, async () =>
      newDelays.length === 1 && only !== undefined
        ? [await this.#placeOne(runner, only)]
        : this.#placeMany(runner, newDelays),
    );
  }

  async #placeOne(runner: Runner, newDelay: NewDelay): Promise<Placed> {
    const placed = await untilStable(
      async () =>
        (await this.#insertOne(runner, newDelay)) ??
        (await lookOnce(runner, (wait) => this.#placeAgain(runner, [newDelay], wait))),
      this.heldMaxMs,
    );
    const refusal = takenKeyError(placed, newDelay);
    if (refusal !== undefined) throw refusal;
    return placed;
  }

  async #insertOne(runner: Runner, newDelay: NewDelay): Promise<Placed | undefined> {
    if (runner.transaction !== 'callers' || whatTheySay([newDelay]) !== 'when') {
      return (await this.#insert(runner, [newDelay], chooseLockWait(runner)))[0];
    }
    const { name, key, payload, to, maxAttempts } = newDelay;
    const { afterMs, at } = moveTarget(to);
    const extras = EXTRA_NAMES.map((extra) => newDelay[extra]);
    const parameters = [name, key, payload, afterMs, at, maxAttempts, ...extras];
    const [row] = await runner.query<OneRow>(this.#sql.scheduleOne, parameters);
    return scheduledOne(given(row));
  }

  #insert(
    runner: Runner,
    newDelays: readonly NewDelay[],
    wait: LockWait,
  ): Promise<(Placed | undefined)[]> {
    return insert(runner, (columns) => this.#sql.schedule(wait, columns), newDelays);
  }

  /** Looks at keys that were taken; undefined: has to look again. */
  async #placeAgain(
    runner: Runner,
    newDelays: readonly NewDelay[],
    wait: LockWait,
  ): Promise<(Placed | undefined)[]> {
    const sql = this.#sql.scheduleAgain(wait, 'each', whatTheySay(newDelays));
    return (await runner.query<PlacedRow>(sql, takenColumns(newDelays))).map(stablePlaced);
  }

  /**
   * All or none, without a savepoint. On failure it deletes the rows that it inserted. Existing
   * rows are written by one statement, and only if no item conflicts.
   */
  async #placeMany(runner: Runner, newDelays: readonly NewDelay[]): Promise<Placed[]> {
    const results = Array.from<Placed>({ length: newDelays.length });
    const inserted: number[] = [];
    let open = [...newDelays.keys()];
    const look = async (): Promise<true | undefined> => {
      const items = open.map((index) => newDelays[index] as NewDelay);
      const placed = await this.#insert(runner, items, chooseLockWait(runner));
      for (const [position, one] of placed.entries()) {
        if (one === undefined) continue;
        results[open[position] as number] = one;
        inserted.push(one.id);
      }
      open = open.filter((_, position) => placed[position] === undefined);
      return open.length === 0 || (await this.#placeRest(runner, newDelays, open, results));
    };
    try {
      await untilStable(look, this.heldMaxMs);
    } catch (error) {
      // After an error of Postgres the transaction has failed, so there is nothing to undo.
      if (error instanceof DelayError && inserted.length > 0) {
        await runner.query(this.#sql.scheduleUndo, [numbers(inserted)]);
      }
      throw error;
    }
    return results;
  }

  /** Waits for each row in order: to come back for a skipped one would break the lock order. */
  async #placeRest(
    runner: Runner,
    newDelays: readonly NewDelay[],
    open: readonly number[],
    results: Placed[],
  ): Promise<true | undefined> {
    const items = open.map((index) => newDelays[index] as NewDelay);
    const sql = this.#sql.scheduleAgain('waits', 'all or none', whatTheySay(items));
    const rows = await runner.query<PlacedRow>(sql, takenColumns(items));
    for (const [position, row] of rows.entries()) {
      const refusal = takenKeyError(readPlaced(row), items[position] as NewDelay);
      if (refusal !== undefined) throw refusal;
    }
    if (rows.some(({ verdict }) => verdict === 'again')) return undefined;
    for (const [position, row] of rows.entries()) {
      results[open[position] as number] = readPlaced(row);
    }
    return true;
  }

  /**
   * Answers `conflict` where `onConflict: 'error'` met an existing delay.
   * @param newDelays as for {@link place}
   * @throws 55P03 when another session has one of the keys in an uncommitted row, and 23505 when
   * that row commits at that moment; nothing is written then
   */
  async placeTogether(
    runner: Runner,
    newDelays: readonly NewDelay[],
    answer: BatchAnswer,
  ): Promise<void> {
    const inserted = await this.#insert(runner, newDelays, 'at once');
    const taken = report(inserted, answer);
    if (taken.length === 0) return;
    const open = taken.map((index) => newDelays[index] as NewDelay);
    const looked = await this.#placeAgain(runner, open, 'at once');
    report(looked, (position, placed) => answer(taken[position] as number, placed));
  }

  /** Inserts delays without a key, which cannot conflict with other calls. */
  async placeKeylessTogether(
    runner: Runner,
    newDelays: readonly NewDelay[],
    answer: BatchAnswer,
  ): Promise<void> {
    report((await insertAll(runner, this.#sql.scheduleKeyless, newDelays)) ?? [], answer);
  }

  /**
   * Writes all delays in one statement; if a key is taken, writes none and returns undefined.
   * @param runner runs each statement as its own transaction
   * @throws DelayUnstableError
   */
  async placeAll(runner: Runner, newDelays: readonly NewDelay[]): Promise<Placed[] | undefined> {
    const isKeyless = newDelays.every(({ key }) => key === null);
    const sql = isKeyless ? this.#sql.scheduleKeyless : this.#sql.scheduleAll;
    try {
      return await orHeld(runner, this.heldMaxMs, () => insertAll(runner, sql, newDelays));
    } catch (error) {
      if (readSqlState(error) !== UNIQUE_VIOLATION) throw error;
      return undefined;
    }
  }

  /**
   * Stores the calls that met a running key and ask for a rerun. @returns the results, with verdict
   * `rerun` for these
   * @throws DelayUnstableError
   */
  async rerun(
    runner: Runner,
    newDelays: readonly NewDelay[],
    placed: readonly Placed[],
  ): Promise<Placed[]> {
    if (!newDelays.some(({ reruns }) => reruns)) return [...placed];
    return orHeld(runner, this.heldMaxMs, () => this.#reruns.keep(runner, newDelays, placed));
  }

  /** The clock, in milliseconds since 1970. */
  nowMs(runner: Runner): Promise<number> {
    return readRow(runner, this.#sql.now, [], readNowMs);
  }

  /**
   * Reschedules the attempt's own row in place; undefined when the row is no longer the attempt's,
   * or a session holds it that the call does not wait for.
   */
  async moveOn<Verdict extends string>(
    runner: Runner,
    own: OwnAttempt,
    to: MoveTo,
    change: OwnChange<Verdict>,
    lockWait: LockWait,
  ): Promise<Placed<Verdict> | undefined> {
    const { afterMs, at, extendMs } = moveTarget(to);
    const parameters = [
      own.id,
      own.epoch,
      this.nodeName,
      change.payload,
      afterMs,
      at,
      extendMs,
      change.maxAttempts,
      own.latenessMs,
      change.extras,
    ];
    return orHeld(runner, this.heldMaxMs, async () => {
      const [row] = await runner.query<PlacedRow>(this.#sql.rescheduleOwn(lockWait), parameters);
      return row && (readPlaced(row, change.verdict) as Placed<Verdict>);
    });
  }

  /**
   * `cancelled`, `running` or `absent`; an attempt (`own`) does not cancel itself. In a
   * transaction, the statement that only removes waiting delays goes first: it takes half the time.
   * Outside, `cancelTogether` has already tried it.
   */
  async cancel(
    runner: Runner,
    target: NameAndKey,
    own?: OwnAttempt,
    by?: string,
  ): Promise<Placed<'cancelled' | 'running' | 'absent'>> {
    if (runner.transaction !== undefined && by === undefined) {
      const gone = await this.#cancelWaiting(runner, target);
      if (gone) return gone as Placed<'cancelled'>;
    }
    const placed = await this.#untilStable(runner, (wait) =>
      this.#cancel(runner, [target], wait, { own, by }),
    );
    return placed as Placed<'cancelled' | 'running' | 'absent'>;
  }

  async #cancelWaiting(runner: Runner, target: NameAndKey): Promise<Placed | undefined> {
    if (runner.transaction === 'callers') {
      const parameters = [target.name, target.key, this.kept];
      const [row] = await runner.query<OneRow>(this.#sql.cancelOne, parameters);
      return cancelledOne(given(row));
    }
    const [gone] = await runner.query<PlacedRow>(this.#sql.cancelWaiting, targetColumns([target]));
    return gone && readPlaced(gone, 'cancelled');
  }

  async cancelTogether(
    runner: Runner,
    targets: readonly NameAndKey[],
    answer: BatchAnswer,
  ): Promise<void> {
    const gone = await runner.query<PlacedRow>(this.#sql.cancelWaiting, targetColumns(targets));
    const byKey = new Map(gone.map((row) => [keyText(row), readPlaced(row, 'cancelled')]));
    const left = report(
      targets.map((target) => byKey.get(keyText(target))),
      answer,
    );
    if (left.length === 0) return;
    const rest = left.map((index) => targets[index] as NameAndKey);
    const looked = await this.#cancel(runner, rest, 'at once');
    report(looked, (position, placed) => answer(left[position] as number, placed));
  }

  async #cancel(
    runner: Runner,
    targets: readonly NameAndKey[],
    wait: LockWait,
    { own, by }: { own?: OwnAttempt | undefined; by?: string | undefined } = {},
  ): Promise<(Placed | undefined)[]> {
    const parameters = [...targetColumns(targets), own?.id ?? null, own?.epoch ?? null];
    const sql = this.#sql.cancel(wait, byParameter(parameters, by));
    return (await runner.query<PlacedRow>(sql, parameters)).map(stablePlaced);
  }

  async reschedule(
    runner: Runner,
    move: Move,
    by?: string,
  ): Promise<Placed<'rescheduled' | 'running' | 'absent'>> {
    const placed = await this.#untilStable(runner, (wait) => this.#move(runner, [move], wait, by));
    return placed as Placed<'rescheduled' | 'running' | 'absent'>;
  }

  async rescheduleTogether(
    runner: Runner,
    moves: readonly Move[],
    answer: BatchAnswer,
  ): Promise<void> {
    report(await this.#move(runner, moves, 'at once'), answer);
  }

  async #move(
    runner: Runner,
    moves: readonly Move[],
    wait: LockWait,
    by?: string,
  ): Promise<(Placed | undefined)[]> {
    const parameters = [...targetColumns(moves), ...moveColumns(moves.map(({ to }) => to))];
    const sql = this.#sql.reschedule(wait, byParameter(parameters, by));
    return (await runner.query<PlacedRow>(sql, parameters)).map(stablePlaced);
  }

  /** Looks at one row until the answer is stable. */
  #untilStable(runner: Runner, look: LookAtRows): Promise<Placed> {
    return orHeld(runner, this.heldMaxMs, () =>
      untilStable(() => lookOnce(runner, look), this.heldMaxMs),
    );
  }
}

/** One row per item, in order; `again` is no answer. */
const stablePlaced = (row: PlacedRow): Placed | undefined =>
  row.verdict === 'again' ? undefined : readPlaced(row);

/** @returns the indexes without an answer */
function report(all: readonly (Placed | undefined)[], answer: BatchAnswer): number[] {
  const open: number[] = [];
  for (const [index, placed] of all.entries()) {
    if (placed === undefined) open.push(index);
    else answer(index, placed);
  }
  return open;
}
