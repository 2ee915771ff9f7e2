import type { MoveTo } from '../validation/when.js';
import { DelayConflictError, DelayUnstableError } from '../delay.errors.js';
import { NO_INSTANT, NO_MS } from './absent.js';
import { type FindAnswer, foundOf, type HistoryAnswer, historyOf } from './answers.js';
import { numbers, texts } from './array-literal.js';
import type { FoundRow, HistoryRow, OwnAttempt, Placed, Placement, Runner } from './rows.js';
import { LOOKS_MAX, PatientStatement } from './patient-statement.js';
import {
  columnsOf,
  insert,
  insertAll,
  placeAgainColumns,
  placedOf,
  type PlacedRow,
} from './placing.js';
import { tablesOf } from './schema.js';
import { sqlStateOf, UNIQUE_VIOLATION } from './sql-state.js';
import { cancelSql, cancelWaitingSql } from './sql/cancel.sql.js';
import type { Patience } from './sql/look.sql.js';
import { findSql } from './sql/find.sql.js';
import { historySql } from './sql/history.sql.js';
import { moveOnSql } from './sql/move-on.sql.js';
import { placeAgainSql } from './sql/place-again.sql.js';
import { placeAllSql, placeKeylessSql, placeSql } from './sql/place.sql.js';
import { rescheduleSql } from './sql/reschedule.sql.js';
import { retryDeadSql } from './sql/retry-dead.sql.js';

/**
 * What producers write. Each method runs in the caller's transaction or in one of its own making,
 * and looks again with a new statement until its answer is stable: a cancel that waited behind
 * "cancel and schedule again" must not say `absent` while a new row lives.
 */
export class DelayStore {
  readonly #sql;

  constructor(
    schema: string,
    withHistory: boolean,
    readonly nodeName: string,
  ) {
    const tables = tablesOf(schema);
    this.#sql = {
      place: placeSql(tables, 'waits'),
      placeAll: placeAllSql(tables),
      placeKeyless: placeKeylessSql(tables),
      placeAgain: new PatientStatement((patience) => placeAgainSql(tables, withHistory, patience)),
      moveOn: new PatientStatement((patience) => moveOnSql(tables, withHistory, patience)),
      cancelWaiting: cancelWaitingSql(tables, withHistory),
      cancel: new PatientStatement((patience) => cancelSql(tables, withHistory, patience)),
      reschedule: new PatientStatement((patience) => rescheduleSql(tables, patience)),
      find: findSql(tables),
      history: historySql(tables),
      retryDead: retryDeadSql(tables),
    };
  }

  /**
   * Writes all placements, or throws and leaves the caller's transaction to be rolled back.
   * @param placements sorted by (name, key) without duplicate keys, so that two callers lock in
   * the same order
   * @throws DelayConflictError for `onConflict: 'error'`
   */
  async place(runner: Runner, placements: readonly Placement[]): Promise<Placed[]> {
    const results = Array.from<Placed>({ length: placements.length });
    let open = placements.map((placement, index) => ({ placement, index }));
    for (let look = 0; open.length > 0; look += 1) {
      if (look === LOOKS_MAX) throw new DelayUnstableError(LOOKS_MAX);
      const inserted = await insert(
        runner,
        this.#sql.place,
        open.map((item) => item.placement),
      );
      const taken: typeof open = [];
      for (const [position, item] of open.entries()) {
        const placed = inserted[position];
        if (placed) results[item.index] = placed;
        else taken.push(item);
      }
      if (taken.length === 0) break;
      open = [];
      const parameters = placeAgainColumns(taken.map((item) => item.placement));
      // Of several, each is waited for in their order: whoever skipped one and came back for it
      // while he holds the next would be in another's way.
      const looked =
        placements.length === 1
          ? await this.#sql.placeAgain.look(runner, parameters, look)
          : await this.#sql.placeAgain.run(runner, parameters, 'waits');
      for (const [position, item] of taken.entries()) {
        const placed = placedOf(looked[position] as PlacedRow);
        if (placed.verdict === 'again') open.push(item);
        else if (placed.verdict === 'conflict') {
          throw new DelayConflictError(item.placement.name, item.placement.key ?? '');
        } else results[item.index] = placed;
      }
    }
    return results;
  }

  /**
   * Writes all placements in one statement or, when a key is taken, none: then it answers undefined.
   * @param runner each statement a transaction of its own
   * @param placements as for {@link place}
   */
  async placeAll(runner: Runner, placements: readonly Placement[]): Promise<Placed[] | undefined> {
    const isKeyless = placements.every(({ key }) => key === null);
    const sql = isKeyless ? this.#sql.placeKeyless : this.#sql.placeAll;
    try {
      return await insertAll(runner, sql, placements);
    } catch (error) {
      if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
      return undefined;
    }
  }

  /**
   * The attempt's own row moves on in place; undefined when the row is no longer the attempt's, or
   * held by somebody it does not wait for.
   */
  async moveOn<Verdict extends string>(
    runner: Runner,
    own: OwnAttempt,
    to: MoveTo,
    change: { verdict: Verdict; payload: string | null; maxAttempts: number | null },
    patience: Patience,
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
    ];
    const [row] = await this.#sql.moveOn.run(runner, parameters, patience);
    return row && (placedOf(row, change.verdict) as Placed<Verdict>);
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
    if (runner.attempt !== undefined) {
      const [gone] = await runner.query<PlacedRow>(this.#sql.cancelWaiting, [
        texts([name]),
        texts([key]),
      ]);
      if (gone) return placedOf(gone, 'cancelled') as Placed<'cancelled'>;
    }
    const parameters = [texts([name]), texts([key]), own?.id ?? null, own?.epoch ?? null];
    const row = await this.#sql.cancel.untilStable(runner, parameters);
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
    const row = await this.#sql.reschedule.untilStable(runner, parameters);
    return placedOf(row) as Placed<'rescheduled' | 'running' | 'absent'>;
  }

  /** The revived dead letter, if there was one. */
  async retryDead(runner: Runner, name: string, key: string): Promise<Placed | undefined> {
    const [row] = await runner.query<PlacedRow>(this.#sql.retryDead, [name, key]);
    return row && placedOf(row, 'retried');
  }

  async find(runner: Runner, name: string, key: string): Promise<FoundRow | undefined> {
    const [row] = await runner.query<FindAnswer>(this.#sql.find, [name, key]);
    return row && foundOf(row);
  }

  async history(runner: Runner, name: string, key: string, limit: number): Promise<HistoryRow[]> {
    const rows = await runner.query<HistoryAnswer>(this.#sql.history, [name, key, limit]);
    return rows.map(historyOf);
  }
}
