import { DelayUnstableError } from '../delay.errors.js';
import type { PlacedRow } from './placing.js';
import type { Runner } from './rows.js';
import type { Patience } from './sql/look.sql.js';

/** Verdicts that leave the row to others. */
const WROTE_NOTHING: ReadonlySet<string> = new Set(['running', 'absent', 'again']);

/** A key that changed under every one of so many looks is somebody's tight loop, not a race. */
export const LOOKS_MAX = 100;

/** A statement that looks at a key's row, in the text that waits for its lock and in the one that does not. */
export class PatientStatement {
  readonly #sql: Record<Patience, string>;

  constructor(build: (patience: Patience) => string) {
    this.#sql = { waits: build('waits'), 'at once': build('at once') };
  }

  run(runner: Runner, parameters: unknown[], patience: Patience): Promise<PlacedRow[]> {
    return runner.query<PlacedRow>(this.#sql[patience], parameters);
  }

  /**
   * Looks at one key for the `look`th time, from 0. A look that waited behind a claim has the lock of
   * a row that it then finds leased, and a transaction would keep it to its end: the attempt could
   * neither renew its lease nor write its result. So in a transaction the first look waits for nobody,
   * and those that wait are taken back when they have written nothing.
   */
  look(runner: Runner, parameters: unknown[], look: number): Promise<PlacedRow[]> {
    if (runner.attempt === undefined) return this.run(runner, parameters, 'waits');
    if (look === 0) return this.run(runner, parameters, 'at once');
    return runner.attempt(
      () => this.run(runner, parameters, 'waits'),
      ([row]) => !WROTE_NOTHING.has(row?.verdict ?? ''),
    );
  }

  /**
   * Looks at one key until the answer is stable.
   * @throws DelayUnstableError
   */
  async untilStable(runner: Runner, parameters: unknown[]): Promise<PlacedRow> {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const [row] = await this.look(runner, parameters, look);
      if (row && row.verdict !== 'again') return row;
    }
    throw new DelayUnstableError(LOOKS_MAX);
  }
}
