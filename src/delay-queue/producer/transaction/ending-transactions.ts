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
}

const endings = new WeakMap<QueryRunner, Ending>();

/** Parameters of the statements that belong into a transaction, until the statement goes out. */
const inside = new WeakSet<object>();

/**
 * Whether the end of the runner's transaction was sent, or has happened. TypeORM says that its transaction is
 * active until the answer is there: what is sent meanwhile would be committed by itself.
 */
export function isEnding(runner: QueryRunner): boolean {
  const ending = endings.get(runner);
  return ending !== undefined && (ending.sent > 0 || ending.isOver);
}

/** Marks a statement by its parameters: it is refused when its turn comes after the transaction's end. */
export const belongsInside = (parameters: object): void => void inside.add(parameters);

/** Whether a statement that goes out belongs into a transaction. */
export const isInside = (parameters: object | undefined): boolean =>
  parameters !== undefined && inside.delete(parameters);

/** Another statement goes out on the runner, after all that the runner was given before it. */
export function sends(runner: QueryRunner, sql: string): void {
  if (transactionEndIn(sql) !== undefined) {
    void SessionWatch.begin(runner);
    endingOf(runner).sent += 1;
  } else if (BEGINS.test(sql)) forgetEnd(runner);
}

/**
 * A statement is answered.
 * @param isRefused an end that Postgres refuses is an end, too: it rolls back. Told before the session's state is.
 */
export function isAnswered(runner: QueryRunner, sql: string, isRefused: boolean): void {
  const isOver = SessionWatch.of(runner)?.isOpen === false;
  if (!isOver && !endings.has(runner)) return;
  const ending = endingOf(runner);
  const isEnd = ending.sent > 0 && transactionEndIn(sql) !== undefined;
  if (isEnd) ending.sent -= 1;
  ending.isOver =
    (isOver || (isEnd && isRefused)) && runner.isTransactionActive && depthOf(runner) > 0;
}

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
  const ending: Ending = { sent: 0, isOver: false };
  endings.set(runner, ending);
  return ending;
}
