import type { HistoryKept } from '../delay/attempts.js';
import type { MoveTo } from '../validation/when.js';
import { NO_INSTANT, NO_MS } from './wire/arrays.js';
import {
  type AsText,
  type FindAnswer,
  foundOf,
  type HistoryAnswer,
  historyOf,
} from './wire/answers.js';
import { numbers, texts } from './wire/arrays.js';
import { HELD_MAX_MS, type LockWait } from './sql/parts/lock-wait.js';
import { KeyLook } from './key-look.js';
import { RerunStore } from './rerun.store.js';
import { ScheduleWriter } from './schedule-writer.js';
import { columnsOf, insertAll, placedOf, type PlacedRow, withColumns } from './write-answers.js';
import type { FoundRow, HistoryRow, OwnAttempt, Placed, NewDelay } from './wire/delay-rows.js';
import { given, type Runner } from './wire/runner.js';
import { type Installation, tablesOf } from './tables/schema.js';
import { sqlStateOf, UNIQUE_VIOLATION } from './sql-state.js';
import { Targets } from './sql/parts/targets.js';
import { cancelOneSql } from './tables/cancel-one.function.js';
import { cancelSql, cancelWaitingSql } from './sql/delays/cancel.sql.js';
import { findSql } from './sql/delays/find.sql.js';
import { historySql } from './sql/history/read.sql.js';
import { moveOnSql } from './sql/delays/move-on.sql.js';
import { scheduleAllNewSql, scheduleKeylessSql } from './sql/delays/schedule-new.sql.js';
import { rescheduleSql } from './sql/delays/reschedule.sql.js';
import { nowSql } from './sql/recurrences/now.sql.js';
import { retryDeadSql } from './sql/delays/retry-dead.sql.js';
import { orHeld, untilStable } from './stable-look.js';

/** What becomes of an attempt's own row; what is null stays as it is. */
export interface OwnChange<Verdict extends string> {
  verdict: Verdict;
  payload: string | null;
  maxAttempts: number | null;
  /** Group and headers as JSON text. */
  extras: string | null;
}

/**
 * What producers write. Each method runs in the caller's transaction or in one of its own making,
 * and looks again with a new statement until its answer is stable: a cancel that waited behind
 * "cancel and schedule again" must not say `absent` while a new row lives.
 */
export class DelayStore {
  readonly #sql;
  readonly #writer: ScheduleWriter;
  readonly #reruns: RerunStore;

  constructor(
    of: string | Installation,
    private readonly kept: HistoryKept,
    readonly nodeName: string,
    private readonly heldMaxMs = HELD_MAX_MS,
  ) {
    const tables = tablesOf(of);
    this.#writer = new ScheduleWriter(tables, kept, heldMaxMs);
    this.#reruns = new RerunStore(of, kept);
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
   * Writes all newDelays, or none and throws.
   * @param newDelays sorted by (name, key) without duplicate keys, so that two callers lock in
   * the same order
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
   * Writes all newDelays in one statement or, when a key is taken, none: then it answers undefined.
   * @param runner each statement a transaction of its own
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
   * Keeps what came while its key ran, of those who want it so.
   * @param placed what became of them; of those that are kept it is `rerun`
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
   * The attempt's own row moves on in place; undefined when the row is no longer the attempt's, or
   * held by a session that it does not wait for.
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
   * In a transaction, what waits is removed by the statement that removes nothing else, for half the
   * time of the other; of those outside, `BatchStore` has tried that.
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

  /** `rescheduled`, `running` or `absent`. */
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

  /** The revived dead letter, if there was one. */
  async retryDead(runner: Runner, name: string, key: string): Promise<Placed | undefined> {
    const sql = this.#sql.retryDead[runner.transaction ?? 'ours'];
    return orHeld(runner, this.heldMaxMs, async () => {
      const [row] = await runner.query<PlacedRow>(sql, [name, key]);
      return row && placedOf(row, 'retried');
    });
  }

  async find(runner: Runner, name: string, key: string): Promise<FoundRow | undefined> {
    const [row] = await runner.query<FindAnswer>(this.#sql.find, [name, key]);
    return row && foundOf(row);
  }

  async history(runner: Runner, name: string, key: string, limit: number): Promise<HistoryRow[]> {
    const rows = await runner.query<HistoryAnswer>(this.#sql.history, [name, key, limit]);
    return rows.map(historyOf);
  }

  #untilStable(statement: KeyLook, runner: Runner, parameters: unknown[]): Promise<PlacedRow> {
    return orHeld(runner, this.heldMaxMs, () =>
      untilStable((looks) => statement.look(runner, parameters, looks), this.heldMaxMs),
    );
  }
}
