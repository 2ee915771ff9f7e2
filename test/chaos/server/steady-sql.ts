import { setTimeout as pause } from 'node:timers/promises';
import { Pool, type QueryResultRow } from 'pg';
import { isAway } from './away.js';

/** How the run's own sessions are called, so that faults leave them alone. */
export const RUN_APPLICATION = 'chaos run';

const AWAY_AT_MOST_MS = 60_000;
const KNOCK_EVERY_MS = 50;

/** Statements of the run itself, which outlast a server that is away for a while. */
export class SteadySql {
  readonly #pool: Pool;
  #closed = false;

  constructor(url: string) {
    this.#pool = new Pool({ connectionString: url, application_name: RUN_APPLICATION, max: 4 });
    // Its idle connections die with every crash; the next statement speaks for itself.
    this.#pool.on('error', () => {});
  }

  /** A statement that a crash has interrupted is sent again, so it may have taken effect twice. */
  async query<Row extends QueryResultRow>(
    text: string,
    parameters: unknown[] = [],
  ): Promise<Row[]> {
    const giveUpAtMs = performance.now() + AWAY_AT_MOST_MS;
    for (;;) {
      try {
        return (await this.#pool.query<Row>(text, parameters)).rows;
      } catch (error) {
        if (this.#closed || !isAway(error) || performance.now() > giveUpAtMs) throw error;
      }
      await pause(KNOCK_EVERY_MS);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#pool.end();
  }
}
