import type { HistoryKept } from '../delay/attempts.js';
import { DelayError } from '../delay/delay.errors.js';
import { numbers } from './wire/arrays.js';
import type { LockWait } from './sql/parts/lock-wait.js';
import { KeyLook } from './key-look.js';
import {
  columnsOf,
  insert,
  type InsertedRow,
  scheduled,
  type InsertSql,
  takenColumns,
  placedOf,
  bySays,
  refusalOf,
  saysOf,
  type PlacedRow,
  withColumns,
} from './write-answers.js';
import type { Placed, NewDelay } from './wire/delay-rows.js';
import type { Runner } from './wire/runner.js';
import type { Tables } from './tables/schema.js';
import { scheduleTakenSql } from './sql/delays/schedule-taken.sql.js';
import { scheduleOneSql } from './tables/schedule-one.function.js';
import { scheduleNewSql } from './sql/delays/schedule-new.sql.js';
import { scheduleUndoSql } from './sql/delays/schedule-undo.sql.js';
import { untilStable } from './stable-look.js';

/** Writes delays whose keys may be taken: inserts what is absent, and looks at the rest. */
export class ScheduleWriter {
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

  /** @throws DelayConflictError, DelayUnstableError, DelayInvalidError for what the code declares; nothing was written then */
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
   * All or none, without a savepoint: inserts can be told from what else the transaction has written, and
   * are taken back; what was there before is written by one statement, when nothing stands against it.
   *
   * @param newDelays sorted by (name, key) without duplicate keys
   * @throws DelayConflictError, DelayUnstableError, DelayInvalidError for what the code declares; nothing was written then
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
      // After an error of Postgres there is nothing left to take back.
      if (error instanceof DelayError) await this.#takeBack(runner, inserted);
      throw error;
    }
    return results;
  }

  /** Each is waited for in their order: a call that skipped one and came back for it would be in another's way. */
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
    const { name, key, payload, to, maxAttempts, group, headers } = newDelay;
    const { afterMs, at } = columnsOf(to);
    const parameters = [name, key, payload, afterMs, at, maxAttempts, group, headers];
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
