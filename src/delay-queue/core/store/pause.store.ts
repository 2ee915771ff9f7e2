import type { DelayPause } from '../api/selection.js';
import type { DueTime } from '../config/durations.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Runner } from '../database/runner.js';
import { type Installation, qualifiedTables } from '../database/tables.js';
import { chooseLockWait, orHeld } from './held-rows.js';
import { type LockWait, HELD_MAX_MS } from './sql/fragments/clock.js';
import { readRows } from './rows/answers.js';
import { reader } from './rows/columns.js';
import { PAUSE, pauseSql, resumeSql, pausesSql } from './sql/nodes.sql.js';
import { moveTarget } from './write-answers.js';

export interface Pausable {
  name: string;
  group: string | null;
}

const readPause = reader(PAUSE);

const limitKey = ({ name, group }: Pausable): [string, string] => [name, group ?? ''];

/** Pauses of names and groups: none of their delays may begin. */
export class PauseStore {
  readonly #sql;

  constructor(of: string | Installation) {
    const tables = qualifiedTables(of);
    this.#sql = byPurpose({
      pause: (wait: LockWait) => pauseSql(tables, wait),
      resume: (wait: LockWait) => resumeSql(tables, wait),
      listPauses: pausesSql(tables),
    });
  }

  /** @returns undefined when there are too many pauses. @throws DelayUnstableError */
  pause(
    runner: Runner,
    what: Pausable,
    { reason, by, until }: { reason: string | null; by: string | null; until: DueTime | null },
  ): Promise<DelayPause | undefined> {
    const { afterMs, at } = until === null ? { afterMs: null, at: null } : moveTarget(until);
    const parameters = [...limitKey(what), reason, afterMs, at, by];
    return changePause(runner, this.#sql.pause, parameters);
  }

  /** Ends a pause. @returns the pause, if it was in effect. @throws DelayUnstableError */
  resume(runner: Runner, what: Pausable): Promise<DelayPause | undefined> {
    return changePause(runner, this.#sql.resume, limitKey(what));
  }

  list(runner: Runner): Promise<DelayPause[]> {
    return readRows(runner, this.#sql.listPauses, [], readPause);
  }
}

async function changePause(
  runner: Runner,
  sql: (wait: LockWait) => string,
  parameters: unknown[],
): Promise<DelayPause | undefined> {
  const [row] = await orHeld(runner, HELD_MAX_MS, () =>
    readRows(runner, sql(chooseLockWait(runner)), parameters, readPause),
  );
  return row;
}
