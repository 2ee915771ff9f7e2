import type { HistoryKept } from '../config/options.js';
import type { MoveTo } from '../config/durations.js';
import type { Runner } from '../database/runner.js';
import { type Installation, type Tables, qualifiedTables } from '../database/tables.js';
import { chooseLockWait, orHeld, untilStable } from './held-rows.js';
import type { AsText } from './rows/answers.js';
import {
  fenceColumns,
  type NameAndKey,
  numbers,
  type OwnAttempt,
  type Placed,
  type Target,
} from './rows/delay-rows.js';
import {
  cancelSql,
  discardDeadSql,
  rescheduleSql,
  retryDeadSql,
  runNowSql,
} from './sql/delays.sql.js';
import { HELD_MAX_MS, type LockWait } from './sql/fragments/clock.js';
import { matching, type RowFilter } from './filter.table.js';
import { Targets } from './sql/fragments/target-rows.js';
import {
  byParameter,
  moveColumns,
  readPlaced,
  type PlacedRow,
  targetColumns,
} from './write-answers.js';

export type ManyVerb = 'cancel' | 'erase' | 'reschedule' | 'runNow' | 'retryDead' | 'discardDead';

/** The result for one delay; name and key are null when it is absent. */
export interface Changed extends Placed {
  name: string | null;
  key: string | null;
  /** It has an error, and so runs alone. */
  failed: boolean;
}

type ChangedRow = PlacedRow & AsText<'ord', 'failed'>;

type Build = (
  tables: Tables,
  kept: HistoryKept,
  lockWait: LockWait,
  of: Targets,
  by: string | undefined,
) => string;

const STATEMENTS: Record<ManyVerb, Build> = {
  cancel: cancelSql,
  erase: (tables, _, lockWait, of) => cancelSql(tables, 'nothing', lockWait, of),
  reschedule: (tables, _, lockWait, of, by) => rescheduleSql(tables, lockWait, of, by),
  runNow: (tables, _, lockWait, of, by) => runNowSql(tables, lockWait, of, by),
  retryDead: (tables, _, lockWait, of, by) => retryDeadSql(tables, lockWait, of, by),
  discardDead: discardDeadSql,
};

/** No attempt holds a dead letter, so these statements do not take the calling attempts. */
const OF_DEAD_LETTERS: readonly ManyVerb[] = ['retryDead', 'discardDead'];

/**
 * Changes the many delays of one call, in one transaction. It waits for rows in the order of the
 * list: to come back for a skipped one would break the lock order. A row that an attempt claims
 * meanwhile stays locked until the transaction ends.
 */
export class ManyStore {
  readonly #tables: Tables;

  constructor(
    of: string | Installation,
    private readonly kept: HistoryKept,
    private readonly heldMaxMs = HELD_MAX_MS,
  ) {
    this.#tables = qualifiedTables(of);
  }

  /**
   * @param runner of a transaction
   * @param targets all by key or all by id, without duplicates, in lock order
   * @param own the calling attempts; their rows answer `running`
   * @param to only for `reschedule`
   * @param filter for ids: one that no longer matches is `absent`
   * @param by who asked for it
   * @returns one result per item; the verbs for dead letters answer `absent` where there is none
   * @throws DelayUnstableError in a transaction of our own
   */
  async change(
    verb: ManyVerb,
    runner: Runner,
    targets: readonly Target[],
    own: readonly OwnAttempt[],
    {
      to,
      filter,
      by,
    }: { to?: MoveTo | undefined; filter?: RowFilter; by?: string | undefined } = {},
  ): Promise<Changed[]> {
    const results = targets.map((): Changed => ABSENT);
    let open: readonly number[] = [...targets.keys()];
    const look = async (): Promise<true | undefined> => {
      const asked: readonly Target[] = open.map((index) => targets[index] as Target);
      const parameters: string[] = [
        ...(areIds(asked)
          ? [numbers(asked.map(({ id }) => id))]
          : targetColumns(asked as readonly NameAndKey[])),
        ...(to === undefined ? [] : moveColumns(Array<MoveTo>(open.length).fill(to))),
        ...(OF_DEAD_LETTERS.includes(verb) ? [] : fenceColumns(own)),
      ];
      const byWhom = byParameter(parameters, verb === 'erase' ? undefined : by);
      const condition = filter && matching(filter, parameters.length + 1);
      const rows = await runner.query<ChangedRow>(
        STATEMENTS[verb](
          this.#tables,
          this.kept,
          chooseLockWait(runner),
          areIds(asked) ? Targets.whereIds(condition?.sql) : Targets.KEYS,
          byWhom,
        ),
        [...parameters, ...(condition?.parameters ?? [])],
      );
      const again: number[] = [];
      for (const row of rows) {
        const index = open[Number(row.ord) - 1] as number;
        if (row.verdict === 'again') again.push(index);
        else results[index] = readChanged(row, targets[index]);
      }
      open = again;
      return open.length === 0 || undefined;
    };
    await orHeld(runner, this.heldMaxMs, () => untilStable(look, this.heldMaxMs));
    return results;
  }
}

const ABSENT: Changed = {
  verdict: 'absent',
  id: Number.NaN,
  dueMs: Number.NaN,
  epoch: null,
  wakeMs: null,
  nowMs: Number.NaN,
  name: null,
  key: null,
  failed: false,
};

function readChanged(row: ChangedRow, target: object | undefined): Changed {
  const placed = readPlaced(row);
  return {
    ...placed,
    // Not every statement returns these; a list of keys has name and key itself.
    epoch: placed.epoch ?? null,
    wakeMs: placed.wakeMs ?? null,
    name: row.name ?? null,
    key: row.key ?? null,
    ...target,
    id: placed.id,
    failed: row.failed === 'true',
  };
}

const areIds = (targets: readonly Target[]): targets is readonly { id: number }[] =>
  targets.every((target) => 'id' in target);
