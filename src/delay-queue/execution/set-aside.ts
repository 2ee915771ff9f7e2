import { type DelayEvents, withCause } from '../delay/delay.events.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { ExhaustedRow } from '../store/wire/attempt-rows.js';
import { Trouble } from '../tasks/trouble.js';

/** Makes dead letters of rows that cannot be read, so that their neighbours run, and tells of each. */
export class SetAside {
  readonly #trouble: Trouble;
  #isLooking = false;

  constructor(
    private readonly store: AttemptStore,
    private readonly events: DelayEvents,
  ) {
    this.#trouble = new Trouble(events, 'bury');
  }

  /**
   * Looks at these rows, and at those whose ids are too large for JavaScript.
   * @returns how many it has set aside; 0 when it could not look
   */
  async look(ids: readonly number[]): Promise<number> {
    try {
      const rows = await this.store.setAside(ids.filter((id) => Number.isSafeInteger(id)));
      this.#trouble.worked();
      for (const row of rows) this.tell(row);
      return rows.length;
    } catch (error) {
      this.#trouble.failed(error);
      return 0;
    }
  }

  /** A page brought a row that cannot be named. One look at a time is enough: it looks at all of these. */
  async unreadable(id: number): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    await this.look([id]);
    this.#isLooking = false;
  }

  tell({ id, name, key, attempts: attempt, error }: TellableRow): void {
    const of = { id: String(id), name, key, attempt, error: error ?? '', durationMs: null };
    this.events.emit('dead', withCause(of, undefined));
  }
}

type TellableRow = Omit<ExhaustedRow, 'id' | 'error'> & {
  id: number | string;
  error: string | null;
};
