import type { HistoryKept } from '../config/options.js';
import { byPurpose } from '../database/prepared-statements.js';
import { type Runner, given } from '../database/runner.js';
import { type Installation, qualifiedTables } from '../database/tables.js';
import { type AsText, readRows } from './rows/answers.js';
import { reader, toNumber } from './rows/columns.js';
import {
  type Wake,
  type NewDelay,
  type Placed,
  texts,
  numbers,
  keyText,
} from './rows/delay-rows.js';
import { chooseLockWait } from './held-rows.js';
import type { LockWait } from './sql/fragments/clock.js';
import { askRerunSql, dropRerunsSql, RERUN, rerunsSql, rerunSql } from './sql/schedule.sql.js';
import { newDelayColumns, extrasText } from './write-answers.js';

export interface Rerun {
  name: string;
  key: string;
  /** Whether its run has ended. */
  isOver: boolean;
}

export interface RerunPlaced {
  wake: Wake;
  nowMs: number;
}

const readPlacedRerun = reader(RERUN);

/** Calls that met their key running, stored until that run ends. */
export class RerunStore {
  readonly #sql;

  constructor(of: string | Installation, kept: HistoryKept) {
    const tables = qualifiedTables(of);
    this.#sql = byPurpose({
      askRerun: (wait: LockWait) => askRerunSql(tables, wait),
      dropReruns: dropRerunsSql(tables),
      listReruns: rerunsSql(tables),
      rerun: rerunSql(tables, kept),
    });
  }

  /** Stores calls that got `running` and ask for a rerun, the last of each key; in lock order. */
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
      const sql = this.#sql.askRerun(chooseLockWait(runner));
      const rows = await runner.query<AsText<'name' | 'key' | 'due_ms'>>(sql, [
        ...newDelayColumns(kept),
        texts(kept.map(extrasText)),
        numbers(indexes.map((index) => (placed[index] as Placed).id)),
      ]);
      const dueMs = new Map(rows.map((row) => [keyText(row), toNumber(row.due_ms)]));
      for (const [position, index] of indexes.entries()) {
        const due = dueMs.get(keyText(kept[position] as NewDelay));
        results[index] = { ...(placed[index] as Placed), verdict: 'rerun', dueMs: given(due) };
      }
    }
    await this.#dropOlder(runner, newDelays, placed);
    return results;
  }

  /**
   * Drops the stored calls that a replace with `maxWait` supersedes: it keeps the row's
   * `created_at`, which does not show later that the row is newer.
   */
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
    await runner.query(this.#sql.dropReruns, [
      texts(newer.map(({ name }) => name)),
      texts(newer.map(({ key }) => String(key))),
    ]);
  }

  /** Keys whose run has ended come first. */
  async all(runner: Runner, limit: number): Promise<Rerun[]> {
    const rows = await runner.query<AsText<'name' | 'key' | 'is_over'>>(this.#sql.listReruns, [
      limit,
    ]);
    return rows.map(({ name, key, is_over: isOver }) => ({ name, key, isOver: isOver === 'true' }));
  }

  /**
   * Places the stored call into the delay of its key. @returns undefined while the key runs or
   * another call writes to it; null when a newer delay waits
   */
  async place(runner: Runner, { name, key }: Rerun): Promise<RerunPlaced | null | undefined> {
    const [row] = await readRows(runner, this.#sql.rerun, [name, key], readPlacedRerun);
    if (row === undefined) return undefined;
    const { id, nowMs, ...placed } = row;
    if (id === null) return null;
    return { wake: { id, name, ...placed, stalled: false, failed: false }, nowMs };
  }
}
