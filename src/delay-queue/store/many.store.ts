import type { HistoryKept } from '../api/delay.js';
import type { MoveTo } from '../config/durations.js';
import type { Runner } from '../database/runner.js';
import { type Installation, type Tables, tablesOf } from '../database/tables.js';
import { waitOf } from './selection.store.js';
import { orHeld, untilStable } from './held-rows.js';
import type { AsText } from './rows/answers.js';
import { type NameAndKey, numbers, type OwnAttempt, type Placed } from './rows/delay-rows.js';
import {
  type CancelLook,
  cancelSql,
  discardDeadSql,
  rescheduleSql,
  retryManyDeadSql,
  runNowSql,
} from './sql/delays.sql.js';
import { HELD_MAX_MS, type LockWait } from './sql/fragments/clock.js';
import { matching, type RowFilter, Targets } from './sql/fragments/filter.js';
import { moveColumns, placedOf, type PlacedRow, targetColumns } from './write-answers.js';

/** The delays that one call lists, without duplicates, in lock order. */
export type TargetList =
  | { of: 'keys'; targets: readonly NameAndKey[] }
  | { of: 'ids'; targets: readonly { id: number }[] };

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
  look: CancelLook,
  by: string | undefined,
) => string;

const STATEMENTS: Record<ManyVerb, Build> = {
  cancel: cancelSql,
  erase: (tables, _, lockWait, of, look) => cancelSql(tables, 'nothing', lockWait, of, look),
  reschedule: (tables, _, lockWait, of, _look, by) => rescheduleSql(tables, lockWait, of, by),
  runNow: (tables, _, lockWait, of, _look, by) => runNowSql(tables, lockWait, of, by),
  retryDead: (tables, _, lockWait, of, _look, by) => retryManyDeadSql(tables, lockWait, of, by),
  discardDead: (tables, kept, lockWait, of, _look, by) =>
    discardDeadSql(tables, kept, lockWait, of, by),
};

/** Whether the statement takes the calling attempts; no attempt holds a dead letter. */
const KNOWS_ATTEMPTS: Record<ManyVerb, boolean> = {
  cancel: true,
  erase: true,
  reschedule: true,
  runNow: true,
  retryDead: false,
  discardDead: false,
};

/**
 * Changes the many delays of one call, in one transaction. It waits for rows in the order of the
 * list: to skip a row and come back for it would break the lock order. A row that an attempt claims
 * in the meantime stays locked until the transaction ends.
 */
export class ManyStore {
  readonly #tables: Tables;

  constructor(
    of: string | Installation,
    private readonly kept: HistoryKept,
    private readonly heldMaxMs = HELD_MAX_MS,
  ) {
    this.#tables = tablesOf(of);
  }

  /**
   * @param runner of a transaction
   * @param own the calling attempts; their rows answer `running`
   * @param to only for `reschedule`
   * @param filter for a list of ids: an id that no longer matches is `absent`
   * @param by who asked for it
   * @returns one result per item; the verbs for dead letters answer `absent` where there is none
   * @throws DelayUnstableError in a transaction of our own
   */
  async change(
    verb: ManyVerb,
    runner: Runner,
    list: TargetList,
    own: readonly OwnAttempt[],
    {
      to,
      filter,
      by,
    }: { to?: MoveTo | undefined; filter?: RowFilter; by?: string | undefined } = {},
  ): Promise<Changed[]> {
    const results = list.targets.map((): Changed => ABSENT);
    let open: readonly number[] = [...list.targets.keys()];
    const look = async (looks: number): Promise<true | undefined> => {
      const parameters: string[] = [
        ...columnsFor(list, open),
        ...(to === undefined ? [] : moveColumns(Array<MoveTo>(open.length).fill(to))),
        ...(KNOWS_ATTEMPTS[verb] ? ownColumns(own) : []),
      ];
      const byWhom = byParameter(parameters, verb === 'erase' ? undefined : by);
      const condition = filter && matching(filter, parameters.length + 1);
      const rows = await runner.query<ChangedRow>(
        STATEMENTS[verb](
          this.#tables,
          this.kept,
          waitOf(runner.transaction),
          list.of === 'keys' ? Targets.KEYS : Targets.whereIds(condition?.sql),
          looks === 1 ? 'first' : 'again',
          byWhom,
        ),
        [...parameters, ...(condition?.parameters ?? [])],
      );
      const again: number[] = [];
      for (const row of rows) {
        const index = open[Number(row.ord) - 1] as number;
        if (row.verdict === 'again') again.push(index);
        else results[index] = changedOf(row, list.targets[index]);
      }
      open = again;
      return open.length === 0 || undefined;
    };
    await orHeld(runner, this.heldMaxMs, () => untilStable(look, this.heldMaxMs));
    return results;
  }
}

/**
 * Adds who asked for a change to the parameters of its statement. A call that does not say so keeps
 * the statement and the plan that it always had.
 * @returns SQL for that parameter
 */
export const byParameter = (parameters: unknown[], by: string | undefined): string | undefined =>
  by === undefined ? undefined : `$${parameters.push(by)}::text`;

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

function changedOf(row: ChangedRow, target: object | undefined): Changed {
  const placed = placedOf(row);
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

function columnsFor(list: TargetList, indexes: readonly number[]): string[] {
  if (list.of === 'ids') {
    return [numbers(indexes.map((index) => (list.targets[index] as { id: number }).id))];
  }
  return targetColumns(indexes.map((index) => list.targets[index] as NameAndKey));
}

const ownColumns = (own: readonly OwnAttempt[]): string[] => [
  numbers(own.map(({ id }) => id)),
  numbers(own.map(({ epoch }) => epoch)),
];
