import type { DelayExplanationCause } from '../api/explanation.js';
import { type LockSession, type SessionWait, sessionInWords } from '../database/lock-waits.js';
import type { ExplainedRow } from '../store/sql/explain.sql.js';

export type CauseOf<Reason extends DelayExplanationCause['reason']> = Extract<
  DelayExplanationCause,
  { reason: Reason }
>;

/** Engines and callers hold a row for milliseconds: what is younger is no cause. */
const HELD_MS_MIN = 1_000;

/** What the node that holds a delay knows of its attempt. */
export interface HeldAttempt {
  hasCalled: boolean;
  /** The server process of its transaction's session, if it has one. */
  pid: number | undefined;
}

/** What the row does not tell of its attempt. */
export interface AttemptSurroundings {
  /** What the sessions that may run it wait for. */
  waits: readonly SessionWait[];
  /** Undefined: another node holds it. */
  held: HeldAttempt | undefined;
}

/** What open transactions hold of a live delay, and what its attempt waits for. */
export class LockCauses {
  constructor(
    private readonly row: ExplainedRow,
    private readonly subject: string,
    private readonly around: AttemptSurroundings,
  ) {}

  /** Whether its handler has been called; the row of another node's attempt does not tell. */
  get isBegun(): boolean {
    return this.around.held?.hasCalled !== false;
  }

  /** Locks of a delay that an attempt holds. */
  ofAttempt(): CauseOf<'locked'>[] {
    if (!this.isBegun) return this.ofRow();
    return [...this.ofRow(), ...this.around.waits.map((wait) => this.#waitsOf(wait))];
  }

  #waitsOf({ waits, holds }: SessionWait): CauseOf<'locked'> {
    const [who, whom] = [sessionInWords(waits), sessionInWords(holds)];
    const pid = this.around.held?.pid;
    if (pid === undefined) {
      const text = `${who} of its node waits for a lock that ${whom} holds`;
      return this.#lockedBy('attempt', holds, text);
    }
    if (holds.pid !== pid) {
      return this.#lockedBy('attempt', holds, `its attempt waits for a lock that ${whom} holds`);
    }
    const text = `${who} waits for a lock that the transaction of ${this.subject} holds; if its handler sent that statement, it waits for itself: use ctx.manager`;
    return this.#lockedBy('self', waits, text);
  }

  ofRow(): CauseOf<'locked'>[] {
    const session = this.row.holder?.session;
    if (session === undefined || (session.openMs ?? Infinity) < HELD_MS_MIN) return [];
    // An attempt that has moved its own row on holds it.
    if (session.pid !== null && session.pid === this.around.held?.pid) return [];
    const so = ': no attempt can begin or end before that is over';
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
