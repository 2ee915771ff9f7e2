import type { HistoryKept } from '../config/options.js';
import { LOCK_NOT_AVAILABLE, readSqlState } from '../database/driver-errors.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Runner } from '../database/runner.js';
import { type Installation, qualifiedTables } from '../database/tables.js';
import { type AsText, type CountAnswer, readCount, readNowMs, readRow } from './rows/answers.js';
import { texts } from './rows/delay-rows.js';
import { declareSql, nowSql, withdrawSql } from './sql/recurrences.sql.js';

/** A recurring delay as code declares it; payload and repeat are JSON texts. */
export interface DeclaredRow {
  name: string;
  key: string;
  payload: string;
  repeat: string;
  /** When it is due if it is new or its repeat has changed; milliseconds since 1970. */
  firstMs: number;
}

type WithdrawAnswer = CountAnswer & AsText<'gone'>;

type WithdrawnRow = [name: string, key: string, repeat: Record<string, unknown>];

/** The recurring delays that a node's code declares, on the engine's own connections. */
export class RecurrenceStore {
  readonly #sql;
  #hasSaid = false;

  constructor(
    private readonly runner: Runner,
    of: string | Installation,
    kept: HistoryKept,
    private readonly nodeName: string,
    private readonly deployment: string,
  ) {
    const tables = qualifiedTables(of);
    this.#sql = byPurpose({
      declare: declareSql(tables, kept),
      withdraw: withdrawSql(tables, kept),
      now: nowSql(tables),
    });
  }

  /** The clock, in milliseconds since 1970. */
  nowMs(): Promise<number> {
    return readRow(this.runner, this.#sql.now, [], readNowMs);
  }

  /**
   * A node's first declaration overrides all others. Later ones do not apply to names that another
   * node has declared since.
   * @param rows sorted by (name, key)
   * @returns `again`: rows that were locked or running; `foreign`: rows of another deployment
   */
  async declare<Row extends DeclaredRow>(
    rows: readonly Row[],
  ): Promise<{ again: Row[]; foreign: Row[] }> {
    const parameters = [
      texts(rows.map(({ name }) => name)),
      texts(rows.map(({ key }) => key)),
      texts(rows.map(({ payload }) => payload)),
      texts(rows.map(({ repeat }) => repeat)),
      texts(rows.map(({ firstMs }) => new Date(firstMs).toISOString())),
      this.nodeName,
      !this.#hasSaid,
      this.deployment,
    ];
    try {
      const answers = await this.runner.query<AsText<'verdict'>>(this.#sql.declare, parameters);
      this.#hasSaid = true;
      const having = (verdict: string) => rows.filter((_, at) => answers[at]?.verdict === verdict);
      return { again: having('again'), foreign: having('foreign') };
    } catch (error) {
      // Another session is inserting one of these keys in a transaction that takes long.
      if (readSqlState(error) === LOCK_NOT_AVAILABLE) return { again: [...rows], foreign: [] };
      throw error;
    }
  }

  get hasSaid(): boolean {
    return this.#hasSaid;
  }

  /**
   * Removes declared delays of these names that are no longer declared. `left`: how many remain.
   */
  withdraw(
    names: readonly string[],
    declared: readonly { name: string; key: string }[],
  ): Promise<{ gone: WithdrawnRow[]; left: number }> {
    const parameters = [
      texts(names),
      texts(declared.map(({ name }) => name)),
      texts(declared.map(({ key }) => key)),
      this.nodeName,
      !this.#hasSaid,
      this.deployment,
    ];
    return readRow(this.runner, this.#sql.withdraw, parameters, (answer: WithdrawAnswer) => ({
      gone: JSON.parse(answer.gone) as WithdrawnRow[],
      left: readCount(answer),
    }));
  }
}
