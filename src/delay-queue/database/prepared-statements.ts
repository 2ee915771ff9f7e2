import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { isStatementGone } from '../store/sql-state.js';
import { bring, type SessionSettings } from './session-settings.js';

/**
 * Statements that are parsed and planned once per connection: for a claim of one row, planning is
 * most of what the server does. Only on sessions that are known to be this process's own; behind a
 * pooler in transaction mode a name would be looked for in somebody else's session.
 */
export class PreparedStatements {
  readonly #sessions = new WeakSet<ClientBase>();
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
    try {
      return (await client.query<Row & object>(prepared)).rows;
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
