import type { LockWait } from './sql/parts/lock-wait.js';
import type { PlacedRow } from './write-answers.js';
import type { Runner } from './wire/runner.js';

type LimitedWait = Exclude<LockWait, 'waits'>;

/** A statement that looks at a key's row, in a text for each way to meet somebody who holds it. */
export class KeyLook {
  readonly #sql: Record<LimitedWait, string>;

  constructor(build: (lockWait: LimitedWait) => string) {
    this.#sql = { 'a while': build('a while'), 'at once': build('at once') };
  }

  /**
   * Looks once at one key; undefined when it has to be looked at again.
   *
   * A look that waited behind a claim has the lock of a row that it then finds leased, and a transaction
   * would keep it to its end: the attempt could neither renew its lease nor write its result. To take
   * that back would take back as well what other branches of the caller have written meanwhile. So in a
   * transaction no look waits.
   */
  async look(runner: Runner, parameters: unknown[]): Promise<PlacedRow | undefined> {
    const lockWait = runner.transaction === undefined ? 'a while' : 'at once';
    const [row] = await runner.query<PlacedRow>(this.#sql[lockWait], parameters);
    return row?.verdict === 'again' ? undefined : row;
  }
}
