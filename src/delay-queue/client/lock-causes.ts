import type { DelayExplanationCause } from '../api/explanation.js';
import { type LockSession, type LockWait, sessionInWords } from '../database/lock-waits.js';
import type { ExplainedRow, RowHolder } from '../store/sql/explain.sql.js';

export type CauseOf<Reason extends DelayExplanationCause['reason']> = Extract<
  DelayExplanationCause,
  { reason: Reason }
>;

/** Engines and callers hold a row for milliseconds: what is younger is no cause. */
const HELD_MS_MIN = 1_000;

/** Who holds the row of that delay; null: no open transaction, as far as one can see. */
export const holderOf = ({ holder }: ExplainedRow): RowHolder | null =>
  JSON.parse(holder ?? 'null') as RowHolder | null;

/** What the row does not tell of its attempt. */
export interface AttemptSurroundings {
  /** Of the sessions that may run it. */
  waits: readonly LockWait[];
  /** By the node that holds it; undefined: another one does. */
  hasCalled: boolean | undefined;
}

/** What open transactions hold of a live delay, and whether its attempt has begun. */
export class LockCauses {
  readonly holder: RowHolder | null;

  constructor(
    private readonly row: ExplainedRow,
    private readonly subject: string,
    private readonly around: AttemptSurroundings,
  ) {
    this.holder = holderOf(row);
  }

  /**
   * An attempt of another node has called its handler once its transaction holds the row. Any session
   * that holds it is taken for that one, unless another session waits for the row.
   */
  get isBegun(): boolean {
    const { isUnbegun } = this.row;
    return this.around.hasCalled ?? !(isUnbegun || this.holder?.isWaitedFor === true);
  }

  /** Locks of a delay that an attempt holds. */
  ofAttempt(): CauseOf<'locked'>[] {
    const { holder } = this;
    if (!this.isBegun) return this.ofRow();
    if (this.row.isFenced) return this.around.waits.map((wait) => this.#waitsOf(wait, holder));
    // A plain attempt holds no row; behind a pooler, the row does not tell whether one is plain.
    return [...this.ofRow(), ...this.around.waits.map((wait) => this.#waitsOf(wait, null))];
  }

  #waitsOf({ waits, holds }: LockWait, holder: RowHolder | null): CauseOf<'locked'> {
    const [who, whom] = [sessionInWords(waits), sessionInWords(holds)];
    if (holder === null) {
      const text = `${who} of its node waits for a lock that ${whom} holds`;
      return this.#lockedBy('attempt', holds, text);
    }
    if (holds.pid !== holder.session.pid) {
      return this.#lockedBy('attempt', holds, `its attempt waits for a lock that ${whom} holds`);
    }
    const text = `${who} waits for a lock that the transaction of ${this.subject} holds; if its handler sent that statement, it waits for itself: use ctx.manager`;
    return this.#lockedBy('self', waits, text);
  }

  ofRow(): CauseOf<'locked'>[] {
    const { holder } = this;
    if (holder === null || (holder.session.openMs ?? Infinity) < HELD_MS_MIN) return [];
    const { session } = holder;
    const so =
      this.isBegun && (this.row.leaseMs ?? 0) > this.row.nowMs
        ? '; unless that is its attempt, no attempt can end before that is over'
        : ': no attempt can begin or end before that is over';
    const text = `${sessionInWords(session)} holds the row of ${this.subject} in an open transaction${so}`;
    return [this.#lockedBy('row', session, text)];
  }

  #lockedBy(
    what: 'row' | 'attempt' | 'self',
    { pid, application, state, openMs }: LockSession,
    text: string,
  ): CauseOf<'locked'> {
    const since = openMs === null ? null : new Date(this.row.nowMs - openMs);
    return { reason: 'locked', what, pid, application, state, since, text };
  }
}
