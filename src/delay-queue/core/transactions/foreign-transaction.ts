import type { DelayTransaction } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { readable } from '../config/refusals.js';
import { shown } from '../config/shown.js';
import { asServerError, dropData } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import { ON_PRIMARY } from '../database/tables.js';
import { asColumns, asTexts, PRESENT_NUMBER } from '../database/text-statement.js';
import { CallsInOrder } from './calls-in-order.js';
import { isManager } from './handler-context.js';

/**
 * The transaction of another library, given as `tx`. Nothing but statements reaches it, so the
 * server says whether it is open.
 *
 * The first write asks for the transaction's number. The parameters of each write are NULL unless
 * that transaction is open: a pool given by mistake, a transaction that is over, and a call that is
 * not awaited write nothing.
 */
export class ForeignTransaction {
  /** As for an EntityManager that has no connection of its own. */
  readonly queryRunner = undefined;
  /** Calls of one transaction about one key take effect in the order in which they were made. */
  readonly calls = new CallsInOrder();
  #number: Promise<string> | undefined;

  /** @throws DelayInvalidError */
  static of(tx: DelayTransaction): ForeignTransaction {
    const identity = readable('tx', () => transactionIdentity(tx));
    let known = byIdentity.get(identity);
    if (known === undefined) {
      known = new ForeignTransaction(tx, identity !== tx);
      byIdentity.set(identity, known);
    }
    return known;
  }

  /** @param hasOwnObject a client of `pg` has many transactions, one after the other */
  private constructor(
    private readonly tx: DelayTransaction,
    private readonly hasOwnObject: boolean,
  ) {}

  /**
   * For the statements of one call.
   * @param number of its transaction, if that is known
   */
  runner(number?: string): Runner {
    let its = number === undefined ? undefined : Promise.resolve(number);
    return {
      transaction: 'callers',
      query: async <Row>(sql: string, parameters: unknown[]) => {
        its ??= this.number();
        return await this.#inside<Row>(await its, sql, parameters);
      },
    };
  }

  /** Reads need no number, which would make the transaction one that writes. */
  readonly reads: Runner = {
    transaction: 'callers',
    query: (sql, parameters) => this.#send(sql, parameters),
  };

  /** By which the server says, later and on any session, how the transaction ended. */
  number(): Promise<string> {
    if (!this.hasOwnObject) return this.#begin();
    this.#number ??= this.#begin().catch((error: unknown) => {
      this.#number = undefined;
      throw error;
    });
    return this.#number;
  }

  /** The number is the same in all savepoints. */
  async #begin(): Promise<string> {
    const sql = `${ON_PRIMARY} SELECT pg_catalog.pg_current_xact_id()::text AS number`;
    const [row] = await this.#send<{ number: string }>(sql, []);
    if (row === undefined) throw answeredNothing();
    return row.number;
  }

  async #inside<Row>(number: string, sql: string, parameters: unknown[]): Promise<Row[]> {
    const rows = await this.#send<Row>(sql, parameters, number);
    // It may have had no parameters.
    if (rows.some((row) => Object.values(row as object).some((value) => value !== null)))
      return rows;
    const [now] = await this.#send<{ number: string | null }>(
      `${ON_PRIMARY} SELECT ${PRESENT_NUMBER} AS number`,
      [],
    );
    if (now?.number !== number) throw isOver();
    return rows;
  }

  async #send<Row>(sql: string, parameters: unknown[], number?: string): Promise<Row[]> {
    const { text, values } = asTexts(sql, parameters, number);
    let answer: unknown;
    try {
      answer = await this.tx.query(text, values);
    } catch (error) {
      dropData(error);
      throw asServerError(error);
    }
    const rows = Array.isArray(answer) ? answer : (answer as { rows?: unknown } | undefined)?.rows;
    // Prisma resolves what it did not send, because the transaction has failed, with undefined.
    if (!Array.isArray(rows)) throw answeredNothing();
    return asColumns(rows as Record<string, unknown>[]) as Row[];
  }
}

const byIdentity = new WeakMap<object, ForeignTransaction>();

function transactionIdentity(tx: DelayTransaction): object {
  const isObject = (typeof tx === 'object' && tx !== null) || typeof tx === 'function';
  if (isObject && isManager(tx)) {
    throw new DelayInvalidError('tx', 'is an EntityManager of TypeORM: give it as `manager`');
  }
  if (!isObject || typeof tx.query !== 'function') {
    throw new DelayInvalidError(
      'tx',
      'must be a client of pg in a transaction, or made by a function of ' +
        `nestjs-delay-queue/adapters, such as fromPrisma(tx), not ${shown(tx)}`,
    );
  }
  return tx.transaction ?? tx;
}

const isOver = (): DelayInvalidError =>
  new DelayInvalidError(
    'tx',
    'is in no transaction, or its transaction is over, so nothing was written: give the ' +
      "transaction's own client, not the pool, and await the call before the transaction ends",
  );

const answeredNothing = (): DelayInvalidError =>
  new DelayInvalidError(
    'tx',
    'did not send the statement: an earlier one of its transaction has failed, so roll it back',
  );
