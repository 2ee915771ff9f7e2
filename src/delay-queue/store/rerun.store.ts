import type { HistoryKept } from '../delay/attempts.js';
import { askRerunSql, dropRerunsSql, rerunsSql, rerunSql } from './sql/delays/rerun.sql.js';
import { type Installation, tablesOf } from './tables/schema.js';
import { type AsText, numberOf } from './wire/answers.js';
import { numbers, texts } from './wire/arrays.js';
import { keyText, type NewDelay, type Placed } from './wire/delay-rows.js';
import { given, type Runner } from './wire/runner.js';
import type { Wake } from './wire/wakes.js';
import { extrasText, newDelayColumns } from './write-answers.js';

/** A key that is to run once more. */
export interface Rerun {
  name: string;
  key: string;
  /** Whether its run has ended. */
  isOver: boolean;
}

/** What became of it: nothing, it is dropped, or it waits as a delay. */
export interface RerunPlaced {
  wake: Wake;
  nowMs: number;
}

type RerunAnswer = AsText<'now_ms', 'id' | 'epoch' | 'group_id' | 'wake_ms'>;

/** Calls that came while their key ran, kept until that run has ended. */
export class RerunStore {
  readonly #sql;

  constructor(of: string | Installation, kept: HistoryKept) {
    const tables = tablesOf(of);
    this.#sql = {
      ask: { callers: askRerunSql(tables, 'waits'), ours: askRerunSql(tables, 'a while') },
      drop: dropRerunsSql(tables),
      all: rerunsSql(tables),
      place: rerunSql(tables, kept),
    };
  }

  /**
   * Keeps those that answered `running` and want it so; each replaces what was kept for its key.
   * @param newDelays in lock order
   */
  async keep(
    runner: Runner,
    newDelays: readonly NewDelay[],
    placed: readonly Placed[],
  ): Promise<Placed[]> {
    const results = [...placed];
    const indexes = [...newDelays.keys()].filter(
      (index) => newDelays[index]?.reruns && placed[index]?.verdict === 'running',
    );
    if (indexes.length > 0) {
      const kept = indexes.map((index) => newDelays[index] as NewDelay);
      const sql = this.#sql.ask[runner.transaction ?? 'ours'];
      const rows = await runner.query<AsText<'name' | 'key' | 'due_ms'>>(sql, [
        ...newDelayColumns(kept),
        texts(kept.map(extrasText)),
        numbers(indexes.map((index) => (placed[index] as Placed).id)),
      ]);
      const dueMs = new Map(rows.map((row) => [keyText(row), numberOf(row.due_ms)]));
      for (const [position, index] of indexes.entries()) {
        const due = dueMs.get(keyText(kept[position] as NewDelay));
        results[index] = { ...(placed[index] as Placed), verdict: 'rerun', dueMs: given(due) };
      }
    }
    await this.#dropOlder(runner, newDelays, placed);
    return results;
  }

  /** A replace with `maxWait` leaves the row as old as it was: only so it is known for newer than what is kept. */
  async #dropOlder(
    runner: Runner,
    newDelays: readonly NewDelay[],
    placed: readonly Placed[],
  ): Promise<void> {
    const newer = newDelays.filter(
      ({ reruns, maxWaitMs = null }, index) =>
        reruns === true && maxWaitMs !== null && placed[index]?.verdict === 'replaced',
    );
    if (newer.length === 0) return;
    await runner.query(this.#sql.drop, [
      texts(newer.map(({ name }) => name)),
      texts(newer.map(({ key }) => String(key))),
    ]);
  }

  /** Those whose run has ended come first. */
  async all(runner: Runner, limit: number): Promise<Rerun[]> {
    const rows = await runner.query<AsText<'name' | 'key' | 'is_over'>>(this.#sql.all, [limit]);
    return rows.map(({ name, key, is_over: isOver }) => ({ name, key, isOver: isOver === 'true' }));
  }

  /** Makes it the delay of its key. Undefined while that runs, or another call writes about it; null: something newer waits. */
  async place(runner: Runner, { name, key }: Rerun): Promise<RerunPlaced | null | undefined> {
    const [row] = await runner.query<RerunAnswer>(this.#sql.place, [name, key]);
    if (row === undefined) return undefined;
    if (row.id === null) return null;
    const wake: Wake = {
      id: Number(row.id),
      epoch: Number(row.epoch),
      name,
      group: row.group_id,
      wakeMs: Number(row.wake_ms),
      stalled: false,
      failed: false,
    };
    return { wake, nowMs: Number(row.now_ms) };
  }
}
