import { createHash } from 'node:crypto';
import type { ClientBase, QueryResult } from 'pg';
import { bring, type SessionSettings } from './connection-config.js';
import { isStatementGone } from './driver-errors.js';
import type { SharedTrip } from './runner.js';

/** With the longest purpose, the name has fewer than the 63 bytes of an identifier. */
const HASH_CHARS = 24;

type PreparedResult<Row> = QueryResult<Row & object>;

/** What a statement is for, by its text: tools show the name of a prepared one in place of the text. */
const purposes = new Map<string, string>();

type Choose = (...choices: unknown[]) => string;

/**
 * @returns the texts, whose prepared statements get their keys as names; where a statement has
 * several texts, a function that builds each at its first use
 */
export function byPurpose<Texts extends object>(texts: Texts): Texts {
  const named = Object.entries<string | Choose>(texts as never).map(([purpose, text]) => {
    if (typeof text === 'function') return [purpose, memoized(purpose, text)];
    purposes.set(text, purpose);
    return [purpose, text];
  });
  return Object.fromEntries(named) as Texts;
}

function memoized(purpose: string, build: Choose): Choose {
  const texts = new Map<string, string>();
  return (...choices) => {
    const chosen = choices.join();
    let text = texts.get(chosen);
    if (text === undefined) {
      text = build(...choices);
      texts.set(chosen, text);
      purposes.set(text, purpose);
    }
    return text;
  };
}

/**
 * Statements that are parsed and planned once per connection: for a claim of one row, planning is
 * most of the server's work. Only on sessions that belong to this process: behind a pooler, a name
 * would be looked up in another client's session.
 */
export class PreparedStatements {
  readonly #sessions = new WeakSet<ClientBase>();
  /** The statements that a session has run by name. */
  readonly #known = new WeakMap<ClientBase, Set<string>>();
  readonly #names = new Map<string, string>();
  #isOn = false;

  /** @param settings what a session gets before its first statement; not for the application's */
  constructor(private readonly settings?: SessionSettings) {}

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Prepares from now on. To be called once sessions are known to stay with their connections. */
  use(): void {
    this.#isOn = true;
  }

  /** To be called before each statement; does nothing on a session that has its settings. */
  async applySettings(client: ClientBase): Promise<void> {
    if (!this.#isOn || this.settings === undefined || this.#sessions.has(client)) return;
    await bring(client, this.settings, 'session ends');
    this.#sessions.add(client);
  }

  async run<Row>(client: ClientBase, sql: string, parameters: unknown[]): Promise<Row[]> {
    if (!this.#areTaken(client)) {
      return (await client.query<Row & object>(sql, parameters)).rows;
    }
    const prepared = { name: this.#nameOf(sql), text: sql, values: parameters };
    const { rows } = await client.query<Row & object>(prepared).catch(this.#failed);
    this.#statementsOf(client).add(sql);
    return rows;
  }

  /**
   * Runs the statement before `last`, such as COMMIT, which the server skips if the statement
   * fails. `sending` is called just before `last` is sent.
   */
  async runBefore<Row>(
    client: ClientBase,
    last: string,
    sql: string,
    parameters: unknown[],
    sending: () => void,
  ): Promise<SharedTrip<Row>> {
    const execution = this.#executionOf(client, sql, parameters);
    if (execution === undefined) {
      const rows = await this.run<Row>(client, sql, parameters);
      sending();
      return { rows, other: await client.query(last) };
    }
    sending();
    // A text of two statements has two answers and no parameters: EXECUTE gets them as literals.
    const answers: Promise<unknown> = client.query(`${execution}; ${last}`);
    const [{ rows }, other] = (await answers.catch(this.#failed)) as [
      PreparedResult<Row>,
      QueryResult,
    ];
    return { rows, other };
  }

  #executionOf(client: ClientBase, sql: string, parameters: unknown[]): string | undefined {
    if (!this.#areTaken(client) || !this.#statementsOf(client).has(sql)) return undefined;
    if (!parameters.every((parameter) => typeof parameter === 'string')) return undefined;
    const literals = parameters.map((parameter) => client.escapeLiteral(parameter));
    return `EXECUTE "${this.#nameOf(sql)}" (${literals.join(', ')})`;
  }

  #statementsOf(client: ClientBase): Set<string> {
    let statements = this.#known.get(client);
    if (statements === undefined) this.#known.set(client, (statements = new Set()));
    return statements;
  }

  readonly #failed = (error: unknown): never => {
    // Other code sends DISCARD ALL or DEALLOCATE on sessions that it shares with us.
    if (isStatementGone(error)) this.#isOn = false;
    throw error;
  };

  #areTaken(client: ClientBase): boolean {
    return this.#isOn && (this.settings === undefined || this.#sessions.has(client));
  }

  /** From the text, so that neither two statements nor two versions of one share a name. */
  #nameOf(sql: string): string {
    let name = this.#names.get(sql);
    if (name === undefined) {
      const hash = createHash('sha256').update(sql).digest('hex').slice(0, HASH_CHARS);
      name = `delay-queue ${purposes.get(sql) ?? 'statement'} ${hash}`;
      this.#names.set(sql, name);
    }
    return name;
  }
}
