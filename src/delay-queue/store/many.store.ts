import type { HistoryKept } from '../delay/attempts.js';
import { HELD_MAX_MS, type LockWait } from './sql/parts/lock-wait.js';
import { type CancelLook, cancelSql } from './sql/delays/cancel.sql.js';
import { discardDeadSql, retryManyDeadSql } from './sql/delays/dead-letters.sql.js';
import { rescheduleSql } from './sql/delays/reschedule.sql.js';
import { runNowSql } from './sql/delays/run-now.sql.js';
import { matching, type RowFilter } from './sql/parts/filter.js';
import { Targets } from './sql/parts/targets.js';
import { orHeld, untilStable } from './stable-look.js';
import { type Installation, tablesOf, type Tables } from './tables/schema.js';
import { NO_INSTANT, NO_MS, numbers, texts } from './wire/arrays.js';
import type { AsText } from './wire/answers.js';
import type { OwnAttempt, Placed } from './wire/delay-rows.js';
import type { Runner } from './wire/runner.js';
import { columnsOf, placedOf, type PlacedRow } from './write-answers.js';
import type { NameAndKey } from './batch.store.js';
import type { MoveTo } from '../validation/when.js';

/** The delays that one call lists, without duplicates, in the order in which their rows are locked. */
export type TargetList =
  | { of: 'keys'; targets: readonly NameAndKey[] }
  | { of: 'ids'; targets: readonly { id: number }[] };

/** What a call does with all of its list. */
export type ManyVerb = 'cancel' | 'reschedule' | 'runNow' | 'retryDead' | 'discardDead';

/** What became of one, and which one it was: name and key are null when it is absent. */
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
) => string;

const STATEMENTS: Record<ManyVerb, Build> = {
  cancel: cancelSql,
  reschedule: (tables, _, lockWait, of) => rescheduleSql(tables, lockWait, of),
  runNow: (tables, _, lockWait, of) => runNowSql(tables, lockWait, of),
  retryDead: (tables, _, lockWait, of) => retryManyDeadSql(tables, lockWait, of),
  discardDead: discardDeadSql,
};

/** No attempt holds a dead letter. */
const KNOWS_ATTEMPTS: Record<ManyVerb, boolean> = {
  cancel: true,
  reschedule: true,
  runNow: true,
  retryDead: false,
  discardDead: false,
};

/**
 * What one call writes about many delays, in one transaction. Rows are waited for in the order of the list: a call that
 * skipped one and came back for it would be in another's way. A row that an attempt claimed meanwhile stays locked
 * to the transaction's end.
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
   * @param own attempts that ask; their rows answer `running`
   * @param to only for `reschedule`
   * @param filter of a list of ids: who does not match it any more is `absent`
   * @returns one for each of the list; of dead letters `absent` where there is none
   * @throws DelayUnstableError in a transaction of our own
   */
  async change(
    verb: ManyVerb,
    runner: Runner,
    list: TargetList,
    own: readonly OwnAttempt[],
    { to, filter }: { to?: MoveTo | undefined; filter?: RowFilter } = {},
  ): Promise<Changed[]> {
    const results = list.targets.map((): Changed => ABSENT);
    let open: readonly number[] = [...list.targets.keys()];
    const look = async (looks: number): Promise<true | undefined> => {
      const parameters = [
        ...columnsFor(list, open),
        ...(to === undefined ? [] : moveColumns(to, open.length)),
        ...(KNOWS_ATTEMPTS[verb] ? ownColumns(own) : []),
      ];
      const condition = filter && matching(filter, parameters.length + 1);
      const rows = await runner.query<ChangedRow>(
        STATEMENTS[verb](
          this.#tables,
          this.kept,
          runner.transaction === 'callers' ? 'waits' : 'a while',
          list.of === 'keys' ? Targets.KEYS : Targets.whereIds(condition?.sql),
          looks === 1 ? 'first' : 'again',
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
    // Not every statement answers these: of keys the list knows name and key.
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
  const targets = indexes.map((index) => list.targets[index] as NameAndKey);
  return [texts(targets.map(({ name }) => name)), texts(targets.map(({ key }) => key))];
}

function moveColumns(to: MoveTo, length: number): string[] {
  const { afterMs, at, extendMs } = columnsOf(to);
  return [
    numbers(Array<number>(length).fill(afterMs ?? NO_MS)),
    texts(Array<string>(length).fill(at ?? NO_INSTANT)),
    numbers(Array<number>(length).fill(extendMs ?? NO_MS)),
  ];
}

const ownColumns = (own: readonly OwnAttempt[]): string[] => [
  numbers(own.map(({ id }) => id)),
  numbers(own.map(({ epoch }) => epoch)),
];
