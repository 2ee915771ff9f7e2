import type { QueryRunner } from 'typeorm';
import { DelayInvalidError } from '../../delay/delay.errors.js';
import { SessionWatch } from '../../database/session-watch.js';
import { transactionEndIn } from './transaction-end.js';

export const transactionIsOver = (): DelayInvalidError =>
  new DelayInvalidError(
    'manager',
    'its transaction is over: await everything before the handler, or the transaction, ends',
  );

/** An application may put comments in front of its statements. */
const BEGINS = /^(?:\s|--.*\n|\/\*[^]*?\*\/)*(?:BEGIN|START\s+TRANSACTION)\b/i;

interface Ending {
  /** What ends the transaction, and is not answered: statements that were sent, and TypeORM's rollback. */
  sent: number;
  /** The server has ended the transaction, and TypeORM does not know it yet. */
  isOver: boolean;
  /** What the session had told when the last of those statements was sent. */
  before: Pick<SessionWatch, 'transactions' | 'rollbacks'> | undefined;
}

const endings = new WeakMap<QueryRunner, Ending>();

/** The parameters of statements that belong into a transaction, until the statement goes out, with which one that is. */
const inside = new WeakMap<object, { transaction: TransactionNumber }>();

/** Tells the transactions of a session from each other; undefined where the server's messages cannot be seen. */
export type TransactionNumber = number | undefined;

/** That of the transaction that is open on the runner, if one is. */
export const transactionNow = (runner: QueryRunner): TransactionNumber =>
  SessionWatch.of(runner)?.transactions;

/**
 * Whether the end of the runner's transaction was sent, or has happened. TypeORM says that its transaction is
 * active until the answer is there: what is sent meanwhile would be committed by itself.
 */
export function isEnding(runner: QueryRunner): boolean {
  const ending = endings.get(runner);
  return ending !== undefined && (ending.sent > 0 || ending.isOver);
}

/**
 * Marks a statement by its parameters: it is refused when its turn comes after the transaction's end, also when the
 * next transaction has begun.
 */
export const belongsInside = (parameters: object, transaction: TransactionNumber): void =>
  void inside.set(parameters, { transaction });

/**
 * A statement goes out. @returns whether it belongs into a transaction
 * @throws DelayInvalidError when that transaction is over
 */
export function isInside(runner: QueryRunner, parameters: object | undefined): boolean {
  const mark = parameters && inside.get(parameters);
  if (parameters === undefined || mark === undefined) return false;
  inside.delete(parameters);
  const isAnother = mark.transaction !== transactionNow(runner);
  if (isAnother || isEnding(runner)) throw transactionIsOver();
  return true;
}

/** Another statement goes out on the runner, after all that the runner was given before it. */
export function sends(runner: QueryRunner, sql: string): void {
  if (transactionEndIn(sql) !== undefined) {
    void SessionWatch.begin(runner);
    const ending = endingOf(runner);
    ending.sent += 1;
    ending.before = toldSoFar(runner);
  } else if (BEGINS.test(sql)) forgetEnd(runner);
}

/**
 * A statement is answered.
 * @param isRefused an end that Postgres refuses is an end, too: it rolls back. Told before the session's state is.
 * @returns the command in it that ends a transaction
 */
export function isAnswered(
  runner: QueryRunner,
  sql: string,
  isRefused: boolean,
): string | undefined {
  const watch = SessionWatch.of(runner);
  const isOver = watch?.isOpen === false;
  if (!isOver && !endings.has(runner)) return undefined;
  const ending = endingOf(runner);
  const command = ending.sent > 0 ? transactionEndIn(sql) : undefined;
  const isEnd = command !== undefined;
  if (isEnd) {
    ending.sent -= 1;
    if (!isRefused && watch && isChained(watch, ending.before)) watch.rolledBackAndChained();
  }
  ending.isOver =
    (isOver || (isEnd && isRefused)) && runner.isTransactionActive && depthOf(runner) > 0;
  return command;
}

function toldSoFar(runner: QueryRunner): Ending['before'] {
  const watch = SessionWatch.of(runner);
  return watch && { transactions: watch.transactions, rollbacks: watch.rollbacks };
}

/** What was sent ends a transaction, a rollback was answered, and one is open: the next one. */
const isChained = (watch: SessionWatch, before: Ending['before']): boolean =>
  watch.isOpen === true &&
  watch.transactions === before?.transactions &&
  watch.rollbacks !== before.rollbacks;

/** TypeORM is about to send the ROLLBACK of its transaction: what joins it now would be undone at once. */
export function willRollBack(runner: QueryRunner): void {
  endingOf(runner).sent += 1;
}

/** What comes now is not meant for the transaction that ended: TypeORM knows of its end, or the next one begins. */
export const forgetEnd = (runner: QueryRunner): void => void endings.delete(runner);

/** TypeORM's count of the transactions in each other: the first is 1, each savepoint one more. */
export function depthOf(runner: QueryRunner): number {
  const depth: unknown = Reflect.get(runner, 'transactionDepth');
  return typeof depth === 'number' ? depth : 1;
}

function endingOf(runner: QueryRunner): Ending {
  const known = endings.get(runner);
  if (known !== undefined) return known;
  const ending: Ending = { sent: 0, isOver: false, before: undefined };
  endings.set(runner, ending);
  return ending;
}
