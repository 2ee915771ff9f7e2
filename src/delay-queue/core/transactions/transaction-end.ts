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

  /** Follows psql's own counting. */
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
