import type { LockWait } from './sql/parts/lock-wait.js';
import type { PlacedRow } from './write-answers.js';
import type { Runner } from './wire/runner.js';

type LimitedWait = Exclude<LockWait, 'waits'>;

/** A statement that looks at a key's row, in a text for each way to meet a session that holds it. */
export class KeyLook {
  readonly #first: Record<LimitedWait, string>;
  readonly #again: Record<LimitedWait, string>;

  /** @param build its first look may be another text than those that follow */
  constructor(build: (lockWait: LimitedWait, look: 'first' | 'again') => string) {
    const texts = (look: 'first' | 'again') => ({
      'a while': build('a while', look),
      'at once': build('at once', look),
    });
    this.#first = texts('first');
    this.#again = texts('again');
  }

  /**
   * Looks once at one key; undefined when it has to be looked at again.
   * @param looks which look it is, from 1 on
   *
   * A look that waited behind a claim has the lock of a row that it then finds leased, and a transaction
   * would keep it to its end: the attempt could neither renew its lease nor write its result. To take
   * that back would take back as well what other branches of the caller have written meanwhile. So in a
   * transaction no look waits.
   */
  async look(runner: Runner, parameters: unknown[], looks = 1): Promise<PlacedRow | undefined> {
    const sql = looks === 1 ? this.#first : this.#again;
    const lockWait = runner.transaction === undefined ? 'a while' : 'at once';
    const [row] = await runner.query<PlacedRow>(sql[lockWait], parameters);
    return row?.verdict === 'again' ? undefined : row;
  }
}
