import type { HistoryKept } from '../../delay/attempts.js';
import { claimLimitedSql } from '../sql/limits/claim-limited.sql.js';
import { lockQuotasSql } from '../sql/limits/lock-quotas.sql.js';
import { type Installation, tablesOf } from '../tables/schema.js';
import { flags, numbers, texts } from '../wire/arrays.js';
import { type ClaimAnswer, claimedOf } from '../wire/answers.js';
import {
  type ClaimedRow,
  type ClaimRequest,
  NO_LOCK,
  type ProcessLock,
} from '../wire/attempt-rows.js';
import type { Transactor } from '../wire/runner.js';

/** How much may begin; 0 is no limit. */
export interface Bound {
  concurrency: number;
  burst: number;
  refillPerMs: number;
}

/** What a handler's name, and each group of it, may begin on all nodes together. */
export interface Rule {
  name: string;
  all: Bound;
  perGroup: Bound;
}

/** What a claim has left of a limit. */
export interface LimitLeft {
  name: string;
  /** '' is the whole name. */
  group: string;
  /** How many more may begin now. */
  places: number;
  /** In how many milliseconds the next may, by its rate. */
  waitMs: number;
}

type LimitedAnswer = ClaimAnswer & { left: string };
type LeftTuple = [name: string, group: string, places: number, waitMs: number];

/** Claims of names that are limited on all nodes together. */
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
    this.#sql = { lock: lockQuotasSql(tables), claim: claimLimitedSql(tables, kept) };
  }

  /** @returns the claimed rows, and what is left of each limit that they met */
  async claim(
    requests: readonly ClaimRequest[],
    rules: readonly Rule[],
  ): Promise<{ rows: ClaimedRow[]; left: LimitLeft[] }> {
    const ids = numbers(requests.map(({ id }) => id));
    const names = texts(rules.map(({ name }) => name));
    const answers = await this.connections.inTransaction(async (runner) => {
      await runner.query(this.#sql.lock, [
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
      left: tuples.map(([name, group, places, waitMs]) => ({ name, group, places, waitMs })),
    };
  }
}

const isLimit = ({ concurrency, burst }: Bound): boolean => concurrency > 0 || burst > 0;

const boundColumns = (bounds: readonly Bound[]): string[] => [
  numbers(bounds.map(({ concurrency }) => concurrency)),
  numbers(bounds.map(({ burst }) => burst)),
  numbers(bounds.map(({ refillPerMs }) => refillPerMs)),
];
