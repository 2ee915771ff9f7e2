import { transactionEndIn } from './transaction-end.js';

/** What `pg` sends and receives on a connection, message by message. */
export interface Wire {
  query(text: unknown): unknown;
  parse(statement: { text?: unknown }, ...more: unknown[]): unknown;
  bind(portal: object): unknown;
  execute(portal: object): unknown;
  sync(): unknown;
  emit(message: string, ...more: unknown[]): boolean;
  stream: { writable: boolean; cork(): void; uncork(): void };
  /** Texts of prepared statements, by name. */
  parsedStatements?: Record<string, unknown>;
}

/** Messages with which the server answers a statement without rows. */
const ANSWERS: ReadonlySet<string> = new Set(['parseComplete', 'bindComplete', 'commandComplete']);

/** The server answers each other end of a transaction with its own command tag; `ROLLBACK TO` shares this one. */
const MAY_ROLL_BACK = /\b(?:rollback|abort)\b/i;

const ahead = new WeakMap<object, BeginAhead>();

/**
 * Sends what begins a transaction ahead of its first statement, in the same packet. There is no Sync in
 * between: if a part of it fails, the server skips what follows, and nothing is committed by itself.
 *
 * It stands on the connection, so neither `pg` nor an agent that wraps its client sees the statements or
 * their answers: `pg` would take them for those of the first statement.
 */
export class BeginAhead {
  #statements: readonly string[] = [];
  #unanswered = 0;
  #isSimple = false;
  #isRefused = false;
  #rollsBack = false;

  /** @param client of `pg`, whose connection is visible */
  static on(client: object): BeginAhead {
    const wire = Reflect.get(client, 'connection') as Wire;
    let known = ahead.get(wire);
    if (known === undefined) ahead.set(wire, (known = new BeginAhead(wire)));
    return known;
  }

  private constructor(private readonly wire: Wire) {
    for (const name of ['query', 'parse', 'bind'] as const) {
      const send = wire[name].bind(wire) as (...all: unknown[]) => unknown;
      wire[name] = (...all: unknown[]) => {
        if (this.isWaiting) this.#send(name === 'query');
        this.#look(name, all[0]);
        return send(...all);
      };
    }
    const emit = wire.emit.bind(wire);
    wire.emit = (message, ...more) => this.#hides(message) || emit(message, ...more);
  }

  /** @param statements without parameters or rows; none: the transaction begins in another way */
  with(statements: readonly string[]): void {
    this.#statements = statements;
    this.#rollsBack = false;
    this.#unanswered = 0;
    this.#isRefused = false;
  }

  /** Nothing was sent yet, and so there is no transaction. */
  get isWaiting(): boolean {
    return this.#statements.length > 0;
  }

  /** The server has refused it, or the session has ended before an answer: no transaction has begun. */
  get hasFailed(): boolean {
    const isGone = this.isWaiting && !this.wire.stream.writable;
    return isGone || this.#isRefused || this.#unanswered > 0;
  }

  /** Whether a text that rolls back the transaction was sent since: it may have begun the next one. */
  get rollsBack(): boolean {
    return this.#rollsBack;
  }

  #look(message: 'query' | 'parse' | 'bind', sent: unknown): void {
    const { text, statement } = Object(sent) as { text?: unknown; statement?: unknown };
    const known = { query: sent, parse: text, bind: this.#prepared(statement) }[message];
    if (typeof known !== 'string' || !MAY_ROLL_BACK.test(known)) return;
    this.#rollsBack ||= transactionEndIn(known) !== undefined;
  }

  #prepared(statement: unknown): unknown {
    return typeof statement === 'string' ? this.wire.parsedStatements?.[statement] : undefined;
  }

  #send(isSimple: boolean): void {
    const { wire } = this;
    const statements = this.#statements;
    this.#statements = [];
    this.#unanswered = statements.length;
    this.#isSimple = isSimple;
    wire.stream.cork();
    process.nextTick(() => wire.stream.uncork());
    for (const text of statements) {
      wire.parse({ text });
      wire.bind({});
      wire.execute({});
    }
  }

  #hides(message: string): boolean {
    if (this.#unanswered === 0) return false;
    if (message === 'errorMessage') this.#refused();
    if (!ANSWERS.has(message)) return false;
    if (message === 'commandComplete') this.#unanswered -= 1;
    return true;
  }

  #refused(): void {
    this.#unanswered = 0;
    this.#isRefused = true;
    // The server skips a simple statement, too, and waits for a Sync.
    if (this.#isSimple) this.wire.sync();
  }
}
