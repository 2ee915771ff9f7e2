import { HELD_MAX_MS } from '../sql/parts/lock-wait.js';
import { pauseSql, pausesSql, resumeSql } from '../sql/pauses/pauses.sql.js';
import { orHeld } from '../stable-look.js';
import { type Installation, tablesOf } from '../tables/schema.js';
import { type AsText, instantOf } from '../wire/answers.js';
import type { Runner } from '../wire/runner.js';
import type { DueTime } from '../../validation/when.js';
import { columnsOf } from '../write-answers.js';

/** What is paused: a name, or one group of it. */
export interface Pausable {
  name: string;
  group: string | null;
}

/** A pause that goes on; instants in milliseconds since 1970. */
export interface PauseRow extends Pausable {
  reason: string | null;
  pausedMs: number;
  /** Null: it has no end. */
  untilMs: number | null;
}

type PauseAnswer = AsText<'name' | 'paused_ms', 'group_id' | 'reason' | 'until_ms'>;

const rowOf = (row: PauseAnswer): PauseRow => ({
  name: row.name,
  group: row.group_id,
  reason: row.reason,
  pausedMs: instantOf(row.paused_ms),
  untilMs: instantOf(row.until_ms),
});

const keyOf = ({ name, group }: Pausable): [string, string] => [name, group ?? ''];

/** Names and groups of which no delay may begin. */
export class PauseStore {
  readonly #sql;

  constructor(of: string | Installation) {
    const tables = tablesOf(of);
    this.#sql = {
      pause: { callers: pauseSql(tables, 'waits'), ours: pauseSql(tables, 'a while') },
      resume: { callers: resumeSql(tables, 'waits'), ours: resumeSql(tables, 'a while') },
      list: pausesSql(tables),
    };
  }

  /** @returns undefined when there are too many. @throws DelayUnstableError */
  async pause(
    runner: Runner,
    what: Pausable,
    reason: string | null,
    until: DueTime | null,
  ): Promise<PauseRow | undefined> {
    const { afterMs, at } = until === null ? { afterMs: null, at: null } : columnsOf(until);
    const parameters = [...keyOf(what), reason, afterMs, at];
    return await changed(runner, this.#sql.pause, parameters);
  }

  /** The pause that has ended, if it was going on. @throws DelayUnstableError */
  async resume(runner: Runner, what: Pausable): Promise<PauseRow | undefined> {
    return await changed(runner, this.#sql.resume, keyOf(what));
  }

  async list(runner: Runner): Promise<PauseRow[]> {
    return (await runner.query<PauseAnswer>(this.#sql.list, [])).map(rowOf);
  }
}

async function changed(
  runner: Runner,
  sql: Record<'callers' | 'ours', string>,
  parameters: unknown[],
): Promise<PauseRow | undefined> {
  const [row] = await orHeld(runner, HELD_MAX_MS, () =>
    runner.query<PauseAnswer>(sql[runner.transaction ?? 'ours'], parameters),
  );
  return row && rowOf(row);
}
