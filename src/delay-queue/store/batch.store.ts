import type { HistoryKept } from '../api/delay.js';
import type { MoveTo } from '../config/durations.js';
import type { Runner } from '../database/runner.js';
import { type Installation, tablesOf } from '../database/tables.js';
import {
  keyText,
  type NewDelay,
  NO_INSTANT,
  NO_MS,
  numbers,
  type Placed,
  texts,
} from './rows/delay-rows.js';
import { cancelSql, cancelWaitingSql, rescheduleSql } from './sql/delays.sql.js';
import { Targets } from './sql/fragments/filter.js';
import { scheduleKeylessSql, scheduleNewSql, scheduleTakenSql } from './sql/schedule.sql.js';
import {
  bySays,
  columnsOf,
  insert,
  insertAll,
  placedOf,
  type PlacedRow,
  saysOf,
  takenColumns,
  withColumns,
} from './write-answers.js';

export interface NameAndKey {
  name: string;
  key: string;
}

/** A delay and its new due time. */
export interface Move extends NameAndKey {
  to: MoveTo;
}

/** Receives the result of the item at that index. */
export type BatchAnswer = (index: number, placed: Placed) => void;

/**
 * Writes the calls of many callers in one statement; each statement is its own transaction. No call
 * waits for another call's row: a call that would have to wait, or to look again, gets no answer
 * here and goes to `DelayStore` alone.
 *
 * Items have no duplicate keys. Those of `place` are sorted by (name, key), because only inserts
 * may wait for each other.
 */
export class BatchStore {
  readonly #sql;

  constructor(of: string | Installation, kept: HistoryKept) {
    const tables = tablesOf(of);
    this.#sql = {
      placeKeyless: withColumns((columns) => scheduleKeylessSql(tables, columns)),
      place: withColumns((columns) => scheduleNewSql(tables, 'at once', columns)),
      placeAgain: bySays((says) => scheduleTakenSql(tables, kept, 'at once', 'each', says)),
      cancelWaiting: cancelWaitingSql(tables, kept),
      cancelFirst: cancelSql(tables, kept, 'at once', Targets.CALLS, 'first'),
      cancel: cancelSql(tables, kept, 'at once'),
      reschedule: rescheduleSql(tables, 'at once'),
    };
  }

  /** Inserts delays without a key, which cannot conflict with other calls. */
  async placeKeyless(
    runner: Runner,
    newDelays: readonly NewDelay[],
    answer: BatchAnswer,
  ): Promise<void> {
    const inserted = await insertAll(runner, this.#sql.placeKeyless, newDelays);
    for (const [index, placed] of (inserted ?? []).entries()) answer(index, placed);
  }

  /**
   * Answers `conflict` where `onConflict: 'error'` met an existing delay.
   * @throws 55P03 when another session has one of the keys in an uncommitted row, and 23505 when
   * that row commits at that moment; nothing is written then
   */
  async place(runner: Runner, newDelays: readonly NewDelay[], answer: BatchAnswer): Promise<void> {
    const inserted = await insert(runner, this.#sql.place, newDelays);
    const taken: number[] = [];
    for (const [index, placed] of inserted.entries()) {
      if (placed) answer(index, placed);
      else taken.push(index);
    }
    if (taken.length === 0) return;
    const open = taken.map((index) => newDelays[index] as NewDelay);
    const sql = this.#sql.placeAgain[saysOf(open)];
    const looked = await runner.query<PlacedRow>(sql, takenColumns(open));
    tell(looked, (position, placed) => answer(taken[position] as number, placed));
  }

  async cancel(runner: Runner, targets: readonly NameAndKey[], answer: BatchAnswer): Promise<void> {
    const gone = await runner.query<PlacedRow>(this.#sql.cancelWaiting, targetColumns(targets));
    const byKey = new Map(gone.map((row) => [keyText(row), row]));
    const left: number[] = [];
    for (const [index, target] of targets.entries()) {
      const row = byKey.get(keyText(target));
      if (row) answer(index, placedOf(row, 'cancelled'));
      else left.push(index);
    }
    if (left.length === 0) return;
    const rest = targetColumns(left.map((index) => targets[index] as NameAndKey));
    const parameters = [...rest, null, null];
    let looked = await runner.query<PlacedRow>(this.#sql.cancelFirst, parameters);
    // At least one rerun is stored, so the statement has to look for reruns key by key.
    if (looked.every(({ verdict }) => verdict === 'again')) {
      looked = await runner.query<PlacedRow>(this.#sql.cancel, parameters);
    }
    tell(looked, (position, placed) => answer(left[position] as number, placed));
  }

  async reschedule(runner: Runner, moves: readonly Move[], answer: BatchAnswer): Promise<void> {
    const to = moves.map((move) => columnsOf(move.to));
    const parameters = [
      ...targetColumns(moves),
      numbers(to.map((column) => column.afterMs ?? NO_MS)),
      texts(to.map((column) => column.at ?? NO_INSTANT)),
      numbers(to.map((column) => column.extendMs ?? NO_MS)),
    ];
    tell(await runner.query<PlacedRow>(this.#sql.reschedule, parameters), answer);
  }
}

const targetColumns = (targets: readonly NameAndKey[]): string[] => [
  texts(targets.map(({ name }) => name)),
  texts(targets.map(({ key }) => key)),
];

/** One row per item, in order; `again` does not count as an answer. */
function tell(rows: readonly PlacedRow[], answer: BatchAnswer): void {
  for (const [index, row] of rows.entries()) {
    if (row.verdict !== 'again') answer(index, placedOf(row));
  }
}
