import type { HistoryKept } from '../api/delay.js';
import type { DueTime } from '../config/durations.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Runner, Transactor } from '../database/runner.js';
import { type Installation, tablesOf } from '../database/tables.js';
import { textsOf, waitOf } from './selection.store.js';
import { orHeld } from './held-rows.js';
import { type ClaimAnswer, claimedOf } from './rows/answers.js';
import {
  type ClaimedRow,
  type ClaimRequest,
  NO_LOCK,
  type ProcessLock,
} from './rows/attempt-rows.js';
import { type Answer, reader } from './rows/columns.js';
import { flags, numbers, texts } from './rows/delay-rows.js';
import { claimLimitedSql, lockQuotasSql } from './sql/claim.sql.js';
import { HELD_MAX_MS, type LockWait } from './sql/fragments/clock.js';
import { PAUSE, type PauseRow, pauseSql, pausesSql, resumeSql } from './sql/nodes.sql.js';
import { columnsOf } from './write-answers.js';

/** How much may begin; 0 means no limit. */
export interface Bound {
  concurrency: number;
  burst: number;
  refillPerMs: number;
}

/** The limits of a handler's name and of each of its groups, across all nodes. */
export interface Rule {
  name: string;
  all: Bound;
  perGroup: Bound;
}

/** What a claim leaves of a limit. */
export interface LimitLeft {
  name: string;
  /** '' is the whole name. */
  group: string;
  /** How many more attempts may begin now. */
  slots: number;
  /** Milliseconds until half of the rate's burst has refilled; 0 while a token is left. */
  waitMs: number;
}

type LimitedAnswer = ClaimAnswer & { left: string };
type LeftTuple = [name: string, group: string, slots: number, waitMs: number];

/** Claims delays whose names have limits across all nodes. */
export class LimitStore {
  readonly #sql;

  constructor(
    private readonly connections: Transactor,
    of: string | Installation,
    kept: HistoryKept,
    private readonly nodeName: string,
    private readonly lock: ProcessLock = NO_LOCK,
  ) {
    const tables = tablesOf(of);
    this.#sql = byPurpose({
      lockLimits: lockQuotasSql(tables),
      claim: claimLimitedSql(tables, kept),
    });
  }

  /** @returns the claimed rows, and what is left of each limit that applied */
  async claim(
    requests: readonly ClaimRequest[],
    rules: readonly Rule[],
  ): Promise<{ rows: ClaimedRow[]; left: LimitLeft[] }> {
    const ids = numbers(requests.map(({ id }) => id));
    const names = texts(rules.map(({ name }) => name));
    const answers = await this.connections.inTransaction(async (runner) => {
      await runner.query(this.#sql.lockLimits, [
        ids,
        names,
        flags(rules.map(({ all }) => isLimit(all))),
        flags(rules.map(({ perGroup }) => isLimit(perGroup))),
      ]);
      return await runner.query<LimitedAnswer>(this.#sql.claim, [
        ids,
        numbers(requests.map(({ epoch }) => epoch)),
        numbers(requests.map(({ leaseMs }) => leaseMs)),
        numbers(requests.map(({ maxAttempts }) => maxAttempts)),
        this.nodeName,
        flags(requests.map((request) => request.fenced === true && this.lock.isHeld)),
        this.lock.number,
        names,
        ...boundColumns(rules.map(({ all }) => all)),
        ...boundColumns(rules.map(({ perGroup }) => perGroup)),
      ]);
    });
    const tuples = JSON.parse(answers[0]?.left ?? '[]') as LeftTuple[];
    return {
      rows: answers.filter(({ id }) => id !== null).map(claimedOf),
      left: tuples.map(([name, group, slots, waitMs]) => ({ name, group, slots, waitMs })),
    };
  }
}

const isLimit = ({ concurrency, burst }: Bound): boolean => concurrency > 0 || burst > 0;

const boundColumns = (bounds: readonly Bound[]): string[] => [
  numbers(bounds.map(({ concurrency }) => concurrency)),
  numbers(bounds.map(({ burst }) => burst)),
  numbers(bounds.map(({ refillPerMs }) => refillPerMs)),
];

export interface Pausable {
  name: string;
  group: string | null;
}

const pauseOf = reader(PAUSE);

const keyOf = ({ name, group }: Pausable): [string, string] => [name, group ?? ''];

/** Pauses of names and groups: none of their delays may begin. */
export class PauseStore {
  readonly #sql;

  constructor(of: string | Installation) {
    const tables = tablesOf(of);
    this.#sql = byPurpose({
      pause: textsOf('pause', (wait: LockWait) => pauseSql(tables, wait)),
      resume: textsOf('resume', (wait: LockWait) => resumeSql(tables, wait)),
      listPauses: pausesSql(tables),
    });
  }

  /** @returns undefined when there are too many pauses. @throws DelayUnstableError */
  async pause(
    runner: Runner,
    what: Pausable,
    { reason, by, until }: { reason: string | null; by: string | null; until: DueTime | null },
  ): Promise<PauseRow | undefined> {
    const { afterMs, at } = until === null ? { afterMs: null, at: null } : columnsOf(until);
    const parameters = [...keyOf(what), reason, afterMs, at, by];
    return await changed(runner, this.#sql.pause, parameters);
  }

  /** Ends a pause. @returns the pause, if it was in effect. @throws DelayUnstableError */
  async resume(runner: Runner, what: Pausable): Promise<PauseRow | undefined> {
    return await changed(runner, this.#sql.resume, keyOf(what));
  }

  async list(runner: Runner): Promise<PauseRow[]> {
    return (await runner.query<Answer>(this.#sql.listPauses, [])).map(pauseOf);
  }
}

async function changed(
  runner: Runner,
  sql: (wait: LockWait) => string,
  parameters: unknown[],
): Promise<PauseRow | undefined> {
  const [row] = await orHeld(runner, HELD_MAX_MS, () =>
    runner.query<Answer>(sql(waitOf(runner.transaction)), parameters),
  );
  return row && pauseOf(row);
}
