import type { QueryRunner } from 'typeorm';
import { DelayInvalidError } from '../api/errors.js';
import { SessionWatch } from '../database/session-watch.js';

/** Most statements have none of these words and need no parsing. */
const SUSPICIOUS = /\b(?:commit|end|rollback|abort|prepare)\b/i;

/** How many words decide what a statement is: `ROLLBACK WORK TO`, `CREATE OR REPLACE FUNCTION`. */
const WORDS_MAX = 4;

/**
 * The command by which an SQL text, of one statement or several, would end its transaction:
 * `COMMIT`, `END`, `ROLLBACK` (not `ROLLBACK TO`), `ABORT` or `PREPARE TRANSACTION`, each of which
 * may begin the next one (`AND CHAIN`). Undefined when there is none.
 *
 * Whether a backslash escapes a quote is a setting of the session (`standard_conforming_strings`),
 * so a text with a backslash is read both ways.
 */
export function transactionEndIn(sql: string): string | undefined {
  if (!SUSPICIOUS.test(sql)) return undefined;
  return (
    new Lexer(sql, false).end() ?? (sql.includes('\\') ? new Lexer(sql, true).end() : undefined)
  );
}

/** Tokens as Postgres reads them (scan.l). Quoted texts and comments are skipped. */
const WORD = /[a-z_\u0080-\uffff][a-z0-9_$\u0080-\uffff]*/iy;
const DOLLAR_QUOTE = /\$(?:[a-z_\u0080-\uffff][a-z0-9_\u0080-\uffff]*)?\$/iy;
const LINE_COMMENT = /--[^\n\r]*/y;
const COMMENT_MARK = /\/\*|\*\//g;

/** Reads a text by statements. Regular expressions cannot: comments nest, and `a$$` is a name. */
class Lexer {
  #at = 0;
  /** The first words of the statement, in upper case. */
  #words: string[] = [];
  #lastWord = '';
  #parentheses = 0;
  /** Depth in `BEGIN ATOMIC … END` and its CASEs, where `;` and END belong to the function. */
  #depth = 0;

  constructor(
    private readonly sql: string,
    private readonly backslashEscapes: boolean,
  ) {}

  end(): string | undefined {
    while (this.#at < this.sql.length) {
      const character = this.sql[this.#at] as string;
      if (character === ';') {
        this.#at += 1;
        const command = this.#depth === 0 ? this.#statementOver() : undefined;
        if (command !== undefined) return command;
      } else if (!this.#passQuoted(character)) this.#takeWord();
    }
    return this.#statementOver();
  }

  #statementOver(): string | undefined {
    const words = this.#words;
    this.#words = [];
    this.#parentheses = 0;
    const [first, second, third] = words;
    switch (first) {
      case 'COMMIT':
      case 'END':
      case 'ABORT':
        return first;
      case 'ROLLBACK': {
        const isNoise = second === 'WORK' || second === 'TRANSACTION';
        return (isNoise ? third : second) === 'TO' ? undefined : first;
      }
      case 'PREPARE':
        return second === 'TRANSACTION' ? 'PREPARE TRANSACTION' : undefined;
      default:
        return undefined;
    }
  }

  /** @returns whether a comment, a string or a quoted name was skipped */
  #passQuoted(character: string): boolean {
    switch (character) {
      case "'":
        return this.#passString("'", this.backslashEscapes);
      case '"':
        return this.#passString('"', false);
      case '-':
        return this.#match(LINE_COMMENT) !== undefined;
      case '/':
        return this.#passComment();
      case '$':
        return this.#passDollarQuote();
      default:
        return false;
    }
  }

  #takeWord(): void {
    const word = this.#match(WORD)?.toUpperCase();
    if (word === undefined) {
      const sign = this.sql[this.#at];
      if (sign === '(') this.#parentheses += 1;
      else if (sign === ')') this.#parentheses -= 1;
      this.#at += 1;
      return;
    }
    // `E'…'` has escapes whatever the setting.
    if (word === 'E' && this.sql[this.#at] === "'") return void this.#passString("'", true);
    this.#countBody(word);
    this.#lastWord = word;
    if (this.#words.length < WORDS_MAX) this.#words.push(word);
  }

  /** Much as psql does it. */
  #countBody(word: string): void {
    // After `CREATE OR` only `REPLACE` can follow.
    const [create, second, , fourth] = this.#words;
    const what = second === 'OR' ? fourth : second;
    if (create !== 'CREATE' || (what !== 'FUNCTION' && what !== 'PROCEDURE')) return;
    if (this.#depth > 0) {
      if (word === 'CASE') this.#depth += 1;
      else if (word === 'END') this.#depth -= 1;
    } else if (word === 'ATOMIC' && this.#lastWord === 'BEGIN' && this.#parentheses === 0) {
      this.#depth = 1;
    }
  }

  #passString(quote: string, hasEscapes: boolean): true {
    const { sql } = this;
    for (this.#at += 1; this.#at < sql.length; this.#at += 1) {
      if (hasEscapes && sql[this.#at] === '\\') this.#at += 1;
      else if (sql[this.#at] === quote) {
        if (sql[this.#at + 1] !== quote) break;
        this.#at += 1;
      }
    }
    this.#at += 1;
    return true;
  }

  #passComment(): boolean {
    const { sql } = this;
    if (!sql.startsWith('/*', this.#at)) return false;
    COMMENT_MARK.lastIndex = this.#at;
    let depth = 0;
    do {
      const mark = COMMENT_MARK.exec(sql)?.[0];
      // An unterminated comment, which the server refuses.
      if (mark === undefined) return ((this.#at = sql.length), true);
      depth += mark === '/*' ? 1 : -1;
    } while (depth > 0);
    this.#at = COMMENT_MARK.lastIndex;
    return true;
  }

  #passDollarQuote(): boolean {
    const tag = this.#match(DOLLAR_QUOTE);
    if (tag === undefined) return false;
    const end = this.sql.indexOf(tag, this.#at);
    this.#at = end === -1 ? this.sql.length : end + tag.length;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.sql)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

export const transactionIsOver = (): DelayInvalidError =>
  new DelayInvalidError(
    'manager',
    'its transaction is over: await everything before the handler, or the transaction, ends',
  );

/** An application may put comments before its statements. */
const BEGINS = /^(?:\s|--.*\n|\/\*[^]*?\*\/)*(?:BEGIN|START\s+TRANSACTION)\b/i;

interface Ending {
  /** Unanswered ends: statements that were sent, and TypeORM's own rollback. */
  sent: number;
  /** The server has ended the transaction, and TypeORM does not know it yet. */
  isOver: boolean;
  /** State of the session's watch when the last of those statements was sent. */
  before: Pick<SessionWatch, 'transactions' | 'rollbacks'> | undefined;
}

const endings = new WeakMap<QueryRunner, Ending>();

/** By the parameters of a statement: the transaction that it belongs to, until it goes out. */
const inside = new WeakMap<object, { transaction: TransactionNumber }>();

/** Number of a transaction within its session; undefined where server messages cannot be seen. */
export type TransactionNumber = number | undefined;

/** Number of the runner's open transaction, if one is open. */
export const transactionNow = (runner: QueryRunner): TransactionNumber =>
  SessionWatch.of(runner)?.transactions;

/**
 * Whether the end of the runner's transaction was sent or has happened. Until the answer arrives,
 * TypeORM reports the transaction as active: what is sent then would be committed on its own.
 */
export function isEnding(runner: QueryRunner): boolean {
  const ending = endings.get(runner);
  return ending !== undefined && (ending.sent > 0 || ending.isOver);
}

/** Marks a statement by its parameters: it is refused if its transaction ends before its turn. */
export const belongsInside = (parameters: object, transaction: TransactionNumber): void =>
  void inside.set(parameters, { transaction });

/**
 * A statement goes out. @returns whether it belongs to a transaction
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

/** An unmarked statement goes out on the runner, after all earlier ones. */
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
 * @param isRefused true: an end that Postgres refuses rolls back, so it is an end too. The error
 *   arrives before the session's new state.
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

/** An end was sent, a rollback was answered, and a transaction is open: it is the next one. */
const isChained = (watch: SessionWatch, before: Ending['before']): boolean =>
  watch.isOpen === true &&
  watch.transactions === before?.transactions &&
  watch.rollbacks !== before.rollbacks;

/** TypeORM is about to roll back: a statement that joins now would be undone at once. */
export function willRollBack(runner: QueryRunner): void {
  endingOf(runner).sent += 1;
}

/** The ended transaction no longer matters: TypeORM knows of its end, or the next one begins. */
export const forgetEnd = (runner: QueryRunner): void => void endings.delete(runner);

/** TypeORM's nesting depth: 1 for the transaction, one more for each savepoint. */
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
