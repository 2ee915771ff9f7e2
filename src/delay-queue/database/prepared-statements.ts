import { createHash } from 'node:crypto';
import type { ClientBase, QueryResult } from 'pg';
import { bring, type SessionSettings } from './connection-config.js';
import { isStatementGone } from './driver-errors.js';
import type { SharedTrip } from './runner.js';

type Answer<Row> = QueryResult<Row & object>;

/**
 * Statements that are parsed and planned once per connection: for a claim of one row, planning is
 * most of what the server does. Only on sessions that are known to be this process's own; behind a
 * pooler in transaction mode a name would be looked for in another client's session.
 */
export class PreparedStatements {
  readonly #sessions = new WeakSet<ClientBase>();
  /** The statements that a session has run by their names. */
  readonly #known = new WeakMap<ClientBase, Set<string>>();
  readonly #names = new Map<string, string>();
  #isOn = false;

  /** @param settings what a session is told before its first statement; left out for the application's sessions */
  constructor(private readonly settings?: SessionSettings) {}

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Prepares from now on; to be called when sessions have proven to stay with their connections. */
  use(): void {
    this.#isOn = true;
  }

  /** To be called before each statement; a session that has its settings is not asked again. */
  async applySettings(client: ClientBase): Promise<void> {
    if (!this.#isOn || this.settings === undefined || this.#sessions.has(client)) return;
    await bring(client, this.settings);
    this.#sessions.add(client);
  }

  async run<Row>(client: ClientBase, sql: string, parameters: unknown[]): Promise<Row[]> {
    if (!this.#areTaken(client)) {
      return (await client.query<Row & object>(sql, parameters)).rows;
    }
    const prepared = { name: this.#nameOf(sql), text: sql, values: parameters };
    const { rows } = await this.#sent(client.query<Row & object>(prepared));
    this.#statementsOf(client).add(sql);
    return rows;
  }

  /**
   * The statement behind one that has no parameters, START TRANSACTION: in one round trip, on a session that has run
   * the statement by its name.
   */
  async runBehind<Row>(
    client: ClientBase,
    first: string,
    sql: string,
    parameters: unknown[],
  ): Promise<SharedTrip<Row>> {
    const execution = this.#executionOf(client, sql, parameters);
    if (execution === undefined) {
      const other = await client.query(first);
      return { other, rows: await this.run<Row>(client, sql, parameters) };
    }
    const [other, { rows }] = await this.#together<Row>(client, first, execution);
    return { other, rows };
  }

  /**
   * The same before one, COMMIT: the server leaves that out when the statement fails.
   *
   * @param sending is called when `last` is about to be sent: on a trip of its own not before the answer
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
    const [{ rows }, other] = await this.#together<Row>(client, execution, last);
    return { rows, other };
  }

  /** A text of two statements has two answers, and no parameters: EXECUTE has them as literals. */
  #together<Row>(
    client: ClientBase,
    ...texts: [string, string]
  ): Promise<[Answer<Row>, Answer<Row>]> {
    const answers: Promise<unknown> = client.query(texts.join('; '));
    return this.#sent(answers as Promise<[Answer<Row>, Answer<Row>]>);
  }

  #executionOf(client: ClientBase, sql: string, parameters: unknown[]): string | undefined {
    if (!this.#areTaken(client) || !this.#statementsOf(client).has(sql)) return undefined;
    if (!parameters.every((parameter) => typeof parameter === 'string')) return undefined;
    const literals = parameters.map((parameter) => client.escapeLiteral(parameter));
    return `EXECUTE ${client.escapeIdentifier(this.#nameOf(sql))} (${literals.join(', ')})`;
  }

  #statementsOf(client: ClientBase): Set<string> {
    let statements = this.#known.get(client);
    if (statements === undefined) this.#known.set(client, (statements = new Set()));
    return statements;
  }

  async #sent<Answers>(answer: Promise<Answers>): Promise<Answers> {
    try {
      return await answer;
    } catch (error) {
      // Other code sends DISCARD ALL or DEALLOCATE on sessions that it shares with us.
      if (isStatementGone(error)) this.#isOn = false;
      throw error;
    }
  }

  #areTaken(client: ClientBase): boolean {
    return this.#isOn && (this.settings === undefined || this.#sessions.has(client));
  }

  /** Made from the text, so that no two statements share a name, nor two versions of one statement. */
  #nameOf(sql: string): string {
    let name = this.#names.get(sql);
    if (name === undefined) {
      name = `delay-queue ${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`;
      this.#names.set(sql, name);
    }
    return name;
  }
}
