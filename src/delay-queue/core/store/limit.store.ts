import type { HistoryKept } from '../config/options.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Transactor } from '../database/runner.js';
import { type Installation, qualifiedTables } from '../database/tables.js';
import { type ClaimAnswer, type ClaimedRow, readClaimed } from './rows/answers.js';
import { claimColumns, type ClaimRequest, NO_LOCK, type ProcessLock } from './rows/attempt-rows.js';
import { flags, numbers, texts } from './rows/delay-rows.js';
import { claimLimitedSql, lockQuotasSql } from './sql/claim.sql.js';

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
    const tables = qualifiedTables(of);
    this.#sql = byPurpose({
      lockLimits: lockQuotasSql(tables),
      claim: claimLimitedSql(tables, kept),
    });
  }

  /** @returns the claimed rows, and what is left of each limit that applied */
  async claim(
    requests: readonly ClaimRequest[],
    rules: readonly LimitRule[],
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
        ...claimColumns(requests, this.nodeName, this.lock),
        names,
        ...boundColumns(rules.map(({ all }) => all)),
        ...boundColumns(rules.map(({ perGroup }) => perGroup)),
      ]);
    });
    const tuples = JSON.parse(answers[0]?.left ?? '[]') as LeftTuple[];
    return {
      rows: answers.filter(({ id }) => id !== null).map(readClaimed),
      left: tuples.map(([name, group, slots, waitMs]) => ({ name, group, slots, waitMs })),
    };
  }
}

const isLimit = ({ concurrency, burst }: LimitBound): boolean => concurrency > 0 || burst > 0;

const boundColumns = (bounds: readonly LimitBound[]): string[] => [
  numbers(bounds.map(({ concurrency }) => concurrency)),
  numbers(bounds.map(({ burst }) => burst)),
  numbers(bounds.map(({ refillPerMs }) => refillPerMs)),
];

/** How much may begin; 0 means no limit. */
export interface LimitBound {
  concurrency: number;
  burst: number;
  refillPerMs: number;
}

/** The limits of a handler's name and of each of its groups, across all nodes. */
export interface LimitRule {
  name: string;
  all: LimitBound;
  perGroup: LimitBound;
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
