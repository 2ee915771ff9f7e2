import type { AttemptEvent } from '../delay/delay.events.js';
import type { Handler } from '../handlers/handler.js';
import type { Occurrence } from '../recurrence/occurrence.js';
import type { ClaimedRow } from '../store/wire/attempt-rows.js';
import type { Wake } from '../store/wire/wakes.js';

/** A claim of this node, from when its row was claimed until what became of it is written down. */
export interface HeldClaim {
  readonly id: number;
  readonly epoch: number;
  readonly latenessMs: number;
  readonly row: ClaimedRow;
  readonly handler: Handler;
  readonly event: AttemptEvent;
  /** Null: it does not recur. */
  readonly occurrence: Occurrence | null;
  /** Where its delay goes on when its own transaction is committed. */
  readonly goesOn: Wake | undefined;
  /** How long its handler ran, in milliseconds, once that is over. */
  durationMs: number;
  /** `performance.now()` when its handler was called. */
  readonly calledAtMs: number;
  /** `performance.now()` at which its lease ends. */
  leaseEndsAtMs: number;
  /** The handler scheduled its own key: the row moved on under this claim. */
  readonly movedOn: boolean;
  /** The transaction whose COMMIT is on its way: whatever is heard of it, it may have happened. */
  readonly committingIn: string | undefined;
  /** What the handler still does counts no more: the result is decided. */
  readonly over: boolean;
  readonly holder: Holder;
}

/** Who runs a handler for claims, and is told what befalls them. */
export interface Holder {
  /** Another claim has replaced it by now. */
  lose(claim: HeldClaim): void;
  /** The application is closing: the handler is told to give up, which costs no attempt. */
  close(): void;
  /** Its delay is being cancelled: the attempt is to end without effect, which costs no attempt. */
  abort(claim: HeldClaim): void;
  /** The claim is given back, whatever its handler does. */
  release(claim: HeldClaim): void;
}

/** A claim that is to end as a dead letter, by way of its name's `@OnDeadDelay`. */
export interface DyingClaim {
  readonly claim: HeldClaim;
  /** As the row keeps it. */
  readonly error: string;
  readonly cause: unknown;
  /** To be told once: its row was claimed anew, or put off, or is the claim's no more. */
  readonly over: (how: 'claimed' | 'gone') => void;
}

/** Of a claim whose result is decided: the call is over, and so need not be kept until all is written. */
export const NO_HOLDER: Holder = {
  lose: () => {},
  close: () => {},
  abort: () => {},
  release: () => {},
};
