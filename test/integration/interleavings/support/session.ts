import type { DataSource, EntityManager, QueryRunner } from 'typeorm';

/** What takes no lock and no snapshot changes nothing by coming earlier or later. */
const NO_STEP = /^(START TRANSACTION|SET TRANSACTION|SET LOCAL)/;

/**
 * One connection on which no statement goes off before its turn: not those of a test, nor those
 * that the library makes of one call. A COMMIT is a statement, too.
 */
export class Session {
  #turn: (() => void) | undefined;
  #running = false;
  #quiet: (() => void) | undefined;

  static async open(dataSource: DataSource): Promise<Session> {
    const runner = dataSource.createQueryRunner();
    await runner.connect();
    const [row] = (await runner.query('SELECT pg_backend_pid() AS pid')) as { pid: number }[];
    return new Session(runner, row?.pid ?? 0);
  }

  private constructor(
    readonly runner: QueryRunner,
    readonly pid: number,
  ) {
    const query = runner.query.bind(runner) as (...call: unknown[]) => Promise<unknown>;
    const gated = async (sql: string, ...rest: unknown[]): Promise<unknown> => {
      if (this.#running && !NO_STEP.test(sql)) await this.#itsTurn();
      return query(sql, ...rest);
    };
    Object.assign(runner, { query: gated });
  }

  get manager(): EntityManager {
    return this.runner.manager;
  }

  /** `parked`: the next statement waits for its turn. `busy`: one is on its way. */
  get state(): 'parked' | 'busy' | 'done' {
    if (!this.#running) return 'done';
    return this.#turn ? 'parked' : 'busy';
  }

  /** Runs the script up to its first statement, and from there statement by statement. */
  async run(script: () => Promise<void>): Promise<void> {
    this.#running = true;
    try {
      await script();
    } finally {
      this.#running = false;
      this.#quiet?.();
    }
  }

  /** Resolves when the statement on its way has its answer, and what follows from it is done. */
  async quiet(): Promise<void> {
    if (this.state !== 'busy') return;
    await new Promise<void>((resolve) => {
      this.#quiet = resolve;
    });
  }

  /** Lets the parked statement go. */
  step(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    turn?.();
  }

  /** Rolls back what a failed test has left open. */
  async close(): Promise<void> {
    this.#running = false;
    this.step();
    if (this.runner.isTransactionActive) await this.runner.rollbackTransaction();
    await this.runner.release();
  }

  #itsTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.#turn = resolve;
      this.#quiet?.();
    });
  }
}
