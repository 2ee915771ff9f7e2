import { DelayError } from '../api/errors.js';
import type { HistoryKept } from '../api/delay.js';
import type { MoveTo } from '../config/durations.js';
import { sqlStateOf, UNIQUE_VIOLATION } from '../database/driver-errors.js';
import { given, type Runner } from '../database/runner.js';
import { type Installation, type Tables, tablesOf } from '../database/tables.js';
import { KeyLook, orHeld, untilStable } from './selection.store.js';
import { RerunStore } from './many.store.js';
import type { AsText } from './rows/answers.js';
import { type Answer, EXTRA_NAMES, reader } from './rows/columns.js';
import {
  type NewDelay,
  NO_INSTANT,
  NO_MS,
  numbers,
  type OwnAttempt,
  type Placed,
  texts,
} from './rows/delay-rows.js';
import {
  cancelSql,
  cancelWaitingSql,
  found,
  type FoundRow,
  findSql,
  moveOnSql,
  rescheduleSql,
  retryDeadSql,
} from './sql/delays.sql.js';
import { HELD_MAX_MS, type LockWait } from './sql/fragments/clock.js';
import { Targets } from './sql/fragments/filter.js';
import { ENDED, type EndedRow, historySql } from './sql/history.sql.js';
import { nowSql } from './sql/recurrences.sql.js';
import {
  scheduleAllNewSql,
  scheduleKeylessSql,
  scheduleNewSql,
  scheduleTakenSql,
  scheduleUndoSql,
} from './sql/schedule.sql.js';
import { cancelOneSql, scheduleOneSql } from './tables/functions.js';
import {
  bySays,
  columnsOf,
  insert,
  insertAll,
  type InsertedRow,
  type InsertSql,
  placedOf,
  type PlacedRow,
  refusalOf,
  saysOf,
  scheduled,
  takenColumns,
  withColumns,
} from './write-answers.js';

/** Writes delays whose keys may be taken: inserts the new ones, then looks at the rest. */
class ScheduleWriter {
  readonly #sql;

  constructor(
    tables: Tables,
    kept: HistoryKept,
    private readonly heldMaxMs: number,
  ) {
    const place = (lockWait: LockWait): InsertSql =>
      withColumns((columns) => scheduleNewSql(tables, lockWait, columns));
    this.#sql = {
      place: { callers: place('waits'), ours: place('a while') },
      placeAgain: bySays(
        (says) => new KeyLook((wait) => scheduleTakenSql(tables, kept, wait, 'each', says)),
      ),
      placeAllAgain: bySays((says) => scheduleTakenSql(tables, kept, 'waits', 'all or none', says)),
      unplace: scheduleUndoSql(tables),
      one: scheduleOneSql(tables),
    };
  }

  /** @throws DelayConflictError, DelayUnstableError, DelayInvalidError; nothing is written then */
  async one(runner: Runner, newDelay: NewDelay): Promise<Placed> {
    const placed = await untilStable(async () => {
      const inserted = await this.#insertOne(runner, newDelay);
      if (inserted) return inserted;
      const row = await this.#sql.placeAgain[saysOf([newDelay])].look(
        runner,
        takenColumns([newDelay]),
      );
      return row && placedOf(row);
    }, this.heldMaxMs);
    const refusal = refusalOf(placed, newDelay);
    if (refusal !== undefined) throw refusal;
    return placed;
  }

  /**
   * Writes all or none, without a savepoint. On failure it deletes the rows that it inserted, whose
   * ids it knows. Existing rows are written by one statement, and only if no item conflicts.
   *
   * @param newDelays sorted by (name, key), without duplicate keys
   * @throws DelayConflictError, DelayUnstableError, or DelayInvalidError for a key that code
   * declares; nothing is written then
   */
  async all(runner: Runner, newDelays: readonly NewDelay[]): Promise<Placed[]> {
    const results = Array.from<Placed>({ length: newDelays.length });
    const inserted: number[] = [];
    let open = [...newDelays.keys()];
    const look = async (): Promise<true | undefined> => {
      const items = open.map((index) => newDelays[index] as NewDelay);
      const placed = await insert(runner, this.#insertFor(runner), items);
      for (const [position, one] of placed.entries()) {
        if (one === undefined) continue;
        results[open[position] as number] = one;
        inserted.push(one.id);
      }
      open = open.filter((_, position) => placed[position] === undefined);
      return open.length === 0 || (await this.#rest(runner, newDelays, open, results));
    };
    try {
      await untilStable(look, this.heldMaxMs);
    } catch (error) {
      // After an error of Postgres the transaction has failed, so there is nothing to undo.
      if (error instanceof DelayError) await this.#takeBack(runner, inserted);
      throw error;
    }
    return results;
  }

  /** Waits for each row in order: to skip a row and come back for it would break the lock order. */
  async #rest(
    runner: Runner,
    newDelays: readonly NewDelay[],
    open: readonly number[],
    results: Placed[],
  ): Promise<true | undefined> {
    const items = open.map((index) => newDelays[index] as NewDelay);
    const rows = await runner.query<PlacedRow>(
      this.#sql.placeAllAgain[saysOf(items)],
      takenColumns(items),
    );
    for (const [position, row] of rows.entries()) {
      const refusal = refusalOf(placedOf(row), items[position] as NewDelay);
      if (refusal !== undefined) throw refusal;
    }
    if (rows.some(({ verdict }) => verdict === 'again')) return undefined;
    for (const [position, row] of rows.entries()) {
      results[open[position] as number] = placedOf(row);
    }
    return true;
  }

  async #insertOne(runner: Runner, newDelay: NewDelay): Promise<Placed | undefined> {
    if (runner.transaction !== 'callers' || saysOf([newDelay]) !== 'when') {
      return (await insert(runner, this.#insertFor(runner), [newDelay]))[0];
    }
    const { name, key, payload, to, maxAttempts } = newDelay;
    const { afterMs, at } = columnsOf(to);
    const extras = EXTRA_NAMES.map((extra) => newDelay[extra]);
    const parameters = [name, key, payload, afterMs, at, maxAttempts, ...extras];
    const [row] = await runner.query<InsertedRow>(this.#sql.one, parameters);
    return row && scheduled(row);
  }

  async #takeBack(runner: Runner, ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await runner.query(this.#sql.unplace, [numbers(ids)]);
  }

  #insertFor({ transaction = 'ours' }: Runner): InsertSql {
    return this.#sql.place[transaction];
  }
}

const endedOf = reader(ENDED);

/** A change of an attempt's own row; null leaves a column as it is. */
export interface OwnChange<Verdict extends string> {
  verdict: Verdict;
  payload: string | null;
  maxAttempts: number | null;
  /** As of `extrasText`. */
  extras: string | null;
}

/**
 * The writes of producers. Each method runs in the caller's transaction or in its own, and repeats
 * its look with a new statement until the answer is stable: a cancel that waited behind "cancel and
 * schedule again" must not answer `absent` while a new row lives.
 */
export class DelayStore {
  readonly #sql;
  readonly #writer: ScheduleWriter;
  readonly #reruns: RerunStore;
  readonly #foundOf: (answer: Answer) => FoundRow;

  constructor(
    of: string | Installation,
    private readonly kept: HistoryKept,
    readonly nodeName: string,
    private readonly heldMaxMs = HELD_MAX_MS,
  ) {
    const tables = tablesOf(of);
    this.#writer = new ScheduleWriter(tables, kept, heldMaxMs);
    this.#reruns = new RerunStore(of, kept);
    this.#foundOf = reader(found(tables));
    this.#sql = {
      placeAll: withColumns((columns) => scheduleAllNewSql(tables, columns)),
      placeKeyless: withColumns((columns) => scheduleKeylessSql(tables, columns)),
      moveOn: {
        waits: moveOnSql(tables, kept, 'waits'),
        'a while': moveOnSql(tables, kept, 'a while'),
        'at once': moveOnSql(tables, kept, 'at once'),
      },
      cancelWaiting: cancelWaitingSql(tables, kept),
      cancelOne: cancelOneSql(tables),
      cancel: new KeyLook((lockWait, look) =>
        cancelSql(tables, kept, lockWait, Targets.CALLS, look),
      ),
      reschedule: new KeyLook((lockWait) => rescheduleSql(tables, lockWait)),
      now: nowSql(tables),
      find: findSql(tables),
      history: historySql(tables),
      retryDead: { callers: retryDeadSql(tables, 'waits'), ours: retryDeadSql(tables, 'a while') },
    };
  }

  /**
   * Writes all delays, or none and throws.
   * @param newDelays sorted by (name, key), without duplicate keys, so that two callers lock in the
   * same order
   * @throws DelayConflictError for `onConflict: 'error'`, DelayUnstableError
   */
  async place(runner: Runner, newDelays: readonly NewDelay[]): Promise<Placed[]> {
    const [only] = newDelays;
    return orHeld(runner, this.heldMaxMs, async () =>
      newDelays.length === 1 && only !== undefined
        ? [await this.#writer.one(runner, only)]
        : this.#writer.all(runner, newDelays),
    );
  }

  /**
   * Writes all delays in one statement; if a key is taken, writes none and returns undefined.
   * @param runner runs each statement as its own transaction
   * @param newDelays as for {@link place}
   * @throws DelayUnstableError
   */
  async placeAll(runner: Runner, newDelays: readonly NewDelay[]): Promise<Placed[] | undefined> {
    const isKeyless = newDelays.every(({ key }) => key === null);
    const sql = isKeyless ? this.#sql.placeKeyless : this.#sql.placeAll;
    try {
      return await orHeld(runner, this.heldMaxMs, () => insertAll(runner, sql, newDelays));
    } catch (error) {
      if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
      return undefined;
    }
  }

  /**
   * Stores the calls that met a running key and ask for a rerun.
   * @param placed results of the calls so far
   * @returns the results, with verdict `rerun` for each stored call
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
  async nowMs(runner: Runner): Promise<number> {
    const [row] = await runner.query<AsText<'now_ms'>>(this.#sql.now, []);
    return Number(given(row).now_ms);
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
    const { afterMs, at, extendMs } = columnsOf(to);
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
      const [row] = await runner.query<PlacedRow>(this.#sql.moveOn[lockWait], parameters);
      return row && (placedOf(row, change.verdict) as Placed<Verdict>);
    });
  }

  /**
   * `cancelled`, `running` or `absent`; an attempt (`own`) does not cancel itself.
   *
   * In a transaction, the statement that only removes waiting delays goes first: it takes half the
   * time of the general one. For calls outside of transactions, `BatchStore` has already tried it.
   */
  async cancel(
    runner: Runner,
    name: string,
    key: string,
    own?: OwnAttempt,
  ): Promise<Placed<'cancelled' | 'running' | 'absent'>> {
    if (runner.transaction !== undefined) {
      const [gone] =
        runner.transaction === 'callers'
          ? await runner.query<PlacedRow>(this.#sql.cancelOne, [name, key, this.kept])
          : await runner.query<PlacedRow>(this.#sql.cancelWaiting, [texts([name]), texts([key])]);
      if (gone) return placedOf(gone, 'cancelled') as Placed<'cancelled'>;
    }
    const parameters = [texts([name]), texts([key]), own?.id ?? null, own?.epoch ?? null];
    const row = await this.#untilStable(this.#sql.cancel, runner, parameters);
    return placedOf(row) as Placed<'cancelled' | 'running' | 'absent'>;
  }

  async reschedule(
    runner: Runner,
    name: string,
    key: string,
    to: MoveTo,
  ): Promise<Placed<'rescheduled' | 'running' | 'absent'>> {
    const { afterMs, at, extendMs } = columnsOf(to);
    const parameters = [
      texts([name]),
      texts([key]),
      numbers([afterMs ?? NO_MS]),
      texts([at ?? NO_INSTANT]),
      numbers([extendMs ?? NO_MS]),
    ];
    const row = await this.#untilStable(this.#sql.reschedule, runner, parameters);
    return placedOf(row) as Placed<'rescheduled' | 'running' | 'absent'>;
  }

  /** Revives a dead letter; undefined when there is none. */
  async retryDead(runner: Runner, name: string, key: string): Promise<Placed | undefined> {
    const sql = this.#sql.retryDead[runner.transaction ?? 'ours'];
    return orHeld(runner, this.heldMaxMs, async () => {
      const [row] = await runner.query<PlacedRow>(sql, [name, key]);
      return row && placedOf(row, 'retried');
    });
  }

  async find(runner: Runner, name: string, key: string): Promise<FoundRow | undefined> {
    const [row] = await runner.query<Answer>(this.#sql.find, [name, key]);
    return row && this.#foundOf(row);
  }

  async history(runner: Runner, name: string, key: string, limit: number): Promise<EndedRow[]> {
    const rows = await runner.query<Answer>(this.#sql.history, [name, key, limit]);
    return rows.map(endedOf);
  }

  #untilStable(statement: KeyLook, runner: Runner, parameters: unknown[]): Promise<PlacedRow> {
    return orHeld(runner, this.heldMaxMs, () =>
      untilStable((looks) => statement.look(runner, parameters, looks), this.heldMaxMs),
    );
  }
}
